// The totals of the time range, one tile each.
import { Box, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { TimedSums } from '../../api/overview.ts'
import { Credits } from '../../components/credits.tsx'
import { count, duration, share } from '../../format/numbers.ts'

export function Totals({ of }: { readonly of: TimedSums }): ReactNode {
  return (
    <SimpleGrid component="section" aria-label="Totals" cols={{ base: 2, sm: 3, lg: 6 }} spacing="sm">
      <Tile name="Requests" value={count(of.requests)} />
      <Tile name="Spend (credits)" value={<Credits value={of.cost} />} />
      <Tile
        name="Tokens"
        value={count(of.prompt_tokens + of.completion_tokens)}
        note={`${count(of.prompt_tokens)} in, ${count(of.completion_tokens)} out`}
      />
      <Tile
        name="Error rate"
        value={share(of.errors, of.requests)}
        note={`${count(of.errors)} of ${count(of.requests)}`}
      />
      <Tile name="Latency p50" value={duration(of.p50_ms)} />
      <Tile name="Latency p95" value={duration(of.p95_ms)} />
    </SimpleGrid>
  )
}

function Tile({
  name,
  value,
  note,
}: {
  readonly name: string
  readonly value: ReactNode
  readonly note?: string
}): ReactNode {
  return (
    <Box className="panel" px="md" py="sm" miw={0}>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fz={20} fw={600} className="number break" lh={1.3}>
        {value}
      </Text>
      {note !== undefined && (
        <Text size="xs" c="dimmed" className="number">
          {note}
        </Text>
      )}
    </Box>
  )
}
