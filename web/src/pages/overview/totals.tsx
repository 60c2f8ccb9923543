// The totals of the time range, one tile each.
import { Box, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { TimedSums } from '../../api/overview.ts'
import { Credits } from '../../components/credits.tsx'
import { count, duration, share } from '../../format/numbers.ts'

export function Totals({ of }: { readonly of: TimedSums }): ReactNode {
  return (
    <SimpleGrid component="section" aria-label="Totals" cols={{ base: 2, sm: 4 }} spacing="sm">
      <Tile name="Requests" value={count(of.requests)} />
      <Tile name="Spend (credits)" value={<Credits value={of.cost} />} />
      <Tile
        name="Provider cost (credits)"
        value={of.upstream_cost === null ? '–' : <Credits value={of.upstream_cost} />}
        note={of.requests_without_upstream_cost === 0 ? '' : `unknown for ${count(of.requests_without_upstream_cost)}`}
      />
      <Tile
        name="Margin (credits)"
        value={of.margin === null ? '–' : <Credits value={of.margin} />}
        note={of.requests_without_upstream_cost === 0 ? '' : 'of requests with a known cost'}
      />
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
