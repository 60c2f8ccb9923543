// One message and its response, with provider, tokens and cost from the usage row.
import { Anchor, Box, Group, Loader, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useRequest } from '../../api/usage.ts'
import { Credits } from '../../components/credits.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { durationMs } from '../../components/usage/request-duration.ts'
import { count, duration } from '../../format/numbers.ts'

export type TurnState = {
  readonly is: 'running' | 'done' | 'stopped' | 'failed'
  readonly model: string
  readonly question: string
  readonly answer: string
  readonly requestId: string | null
  readonly error: unknown
}

export function Turn({ of: turn }: { readonly of: TurnState }): ReactNode {
  return (
    <Box>
      <Text size="xs" c="dimmed" fw={600}>
        You
      </Text>
      <Text size="sm" className="answer" mb="xs">
        {turn.question}
      </Text>
      <Text size="xs" c="dimmed" fw={600}>
        {turn.model}
      </Text>
      <Text size="sm" className="answer" aria-live="polite" aria-busy={turn.is === 'running'}>
        {turn.answer}
        {turn.is === 'running' && <Loader size={12} type="dots" ml={6} aria-label="Waiting for the response" />}
      </Text>
      {turn.is === 'failed' && <ErrorAlert error={turn.error} title="The request failed" />}
      {turn.is === 'stopped' && (
        <Text size="xs" c="dimmed">
          Stopped. Tokens generated so far are billed.
        </Text>
      )}
      {turn.is !== 'running' && turn.requestId !== null && <Receipt id={turn.requestId} />}
    </Box>
  )
}

// Read from the usage row, because the stream may have been interrupted before its usage arrived.
function Receipt({ id }: { readonly id: string }): ReactNode {
  const { data: row } = useRequest(id)
  if (row === undefined) return null
  return (
    <Group gap="md" mt={6}>
      <Fact name="provider">{row.provider ?? 'none'}</Fact>
      <Fact name="tokens">
        {count(row.prompt_tokens)} in, {count(row.completion_tokens)} out
      </Fact>
      <Fact name="cost">
        <Credits value={row.cost} /> credits
      </Fact>
      <Fact name="duration">{duration(durationMs(row))}</Fact>
      <Anchor component={Link} href={`/usage/${id}`} size="xs">
        View request
      </Anchor>
    </Group>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }): ReactNode {
  return (
    <Text size="xs" className="number">
      <Text span size="xs" c="dimmed">
        {name}{' '}
      </Text>
      {children}
    </Text>
  )
}
