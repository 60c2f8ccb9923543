// The timeline of a request: received, first byte, and how it ended.
import { Box, Timeline as Steps, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { UsageRow } from '../../api/usage.ts'
import { duration } from '../../format/numbers.ts'
import { Panel } from '../panel.tsx'
import { Timestamp } from '../timestamp.tsx'

type Timed = Pick<UsageRow, 'created_at' | 'first_byte_at' | 'finished_at' | 'outcome'>

export function Timeline({ of: row }: { readonly of: Timed }): ReactNode {
  const start = Date.parse(row.created_at)
  const since = (at: string | null) => (at === null ? null : Date.parse(at) - start)
  // A refused request has no response that could begin.
  const isRefused = row.outcome === 'refused' && row.first_byte_at === null
  const steps = [
    { name: 'Received', at: row.created_at, after: 0 },
    ...(isRefused ? [] : [{ name: 'First byte', at: row.first_byte_at, after: since(row.first_byte_at) }]),
    { name: ENDS[row.outcome ?? 'completed'] ?? 'Finished', at: row.finished_at, after: since(row.finished_at) },
  ]
  const reached = steps.findLastIndex(({ at }) => at !== null)
  return (
    <Panel title="Timeline">
      {!isRefused && <Bar first={since(row.first_byte_at)} whole={since(row.finished_at)} />}
      <Steps active={reached} bulletSize={14} lineWidth={2} mt="md">
        {steps.map(({ name, at, after }) => (
          <Steps.Item key={name} title={<Text size="sm">{name}</Text>}>
            <Text size="sm" c="dimmed">
              {at === null ? placeholderFor(name, row) : <Timestamp at={at} />}
              {at !== null && after !== null && after > 0 ? ` · after ${duration(after)}` : ''}
            </Text>
          </Steps.Item>
        ))}
      </Steps>
    </Panel>
  )
}

const ENDS: Readonly<Record<string, string>> = {
  refused: 'Refused',
  upstream_failed: 'Failed',
  upstream_broke: 'Interrupted',
  client_left: 'Client disconnected',
}

// The wait for the first byte and the response, to scale.
function Bar({ first, whole }: { readonly first: number | null; readonly whole: number | null }): ReactNode {
  if (whole === null || whole <= 0) return null
  const waiting = Math.min(100, (100 * (first ?? whole)) / whole)
  const words = `${duration(first ?? whole)} of ${duration(whole)} waiting for the first byte`
  return (
    <Box role="img" aria-label={words} title={words} display="flex" h={10} bdrs="sm" style={{ overflow: 'hidden' }}>
      <Box w={`${waiting}%`} bg="light-dark(var(--mantine-color-gray-5), var(--mantine-color-dark-3))" />
      <Box style={{ flex: 1 }} bg="indigo.5" />
    </Box>
  )
}

function placeholderFor(name: string, row: Timed): string {
  if (row.outcome === null) return 'not yet'
  return name === 'First byte' ? 'none' : 'unknown'
}
