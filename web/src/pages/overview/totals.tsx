// The totals of the time range, one tile each, with the change against the period before. Each leads to the requests.
import { Anchor, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Overview } from '../../api/overview.ts'
import { Credits } from '../../components/credits.tsx'
import { unit } from '../../format/currency.ts'
import { change, count, duration, share } from '../../format/numbers.ts'

export function Totals({ of, usage }: { readonly of: Overview; readonly usage: string }): ReactNode {
  const { totals, previous } = of
  const unknown = totals.requests_without_upstream_cost
  return (
    <SimpleGrid component="section" aria-label="Totals" cols={{ base: 2, sm: 4 }} spacing="sm">
      <Tile
        name={`Revenue (${unit()})`}
        href={usage}
        value={<Credits value={totals.cost} />}
        change={changeOf(totals.cost, previous.cost)}
      />
      <Tile
        name={`Cost (${unit()})`}
        href={usage}
        value={totals.upstream_cost === null ? '–' : <Credits value={totals.upstream_cost} />}
        change={changeOf(totals.upstream_cost, previous.upstream_cost)}
        note={unknown === 0 ? '' : `unknown for ${count(unknown)} ${unknown === 1 ? 'request' : 'requests'}`}
      />
      <Tile
        name={`Margin (${unit()})`}
        href={usage}
        value={totals.margin === null ? '–' : <Credits value={totals.margin} />}
        change={changeOf(totals.margin, previous.margin)}
        note={unknown === 0 ? '' : 'where the cost is known'}
      />
      <Tile
        name="Requests"
        href={usage}
        value={count(totals.requests)}
        change={changeOf(totals.requests, previous.requests)}
      />
      <Tile
        name="Error rate"
        href={usage}
        value={share(totals.errors, totals.requests)}
        change={points(rate(totals), rate(previous))}
        note={totals.requests === 0 ? '' : `${count(totals.errors)} of ${count(totals.requests)} requests`}
      />
      <Tile
        name="Tokens"
        href={usage}
        value={count(totals.prompt_tokens + totals.completion_tokens)}
        change={changeOf(tokens(totals), tokens(previous))}
        note={`${count(totals.prompt_tokens)} in, ${count(totals.completion_tokens)} out`}
      />
      <Tile
        name="Latency p50"
        href={usage}
        value={duration(totals.p50_ms)}
        change={changeOf(totals.p50_ms, previous.p50_ms)}
      />
      <Tile
        name="Latency p95"
        href={usage}
        value={duration(totals.p95_ms)}
        change={changeOf(totals.p95_ms, previous.p95_ms)}
      />
    </SimpleGrid>
  )
}

type Sums = Overview['totals']

const tokens = (sums: Sums) => sums.prompt_tokens + sums.completion_tokens
const rate = ({ errors, requests }: Sums) => (requests === 0 ? undefined : errors / requests)

// Nothing where there is nothing to compare with: of a period before without requests, and of two zeros.
function changeOf(now: string | number | null, before: string | number | null): string {
  if (now === null || before === null) return ''
  const [a, b] = [Number(now), Number(before)]
  return a === 0 && b === 0 ? '' : change(a, b)
}

// Of a rate the difference is stated in percentage points.
function points(now: number | undefined, before: number | undefined): string {
  if (now === undefined || before === undefined) return ''
  const difference = (now - before) * 100
  if (Math.abs(difference) < 0.05) return '±0'
  return `${difference > 0 ? '+' : '−'}${Math.abs(difference).toFixed(1)} points`
}

type TileProps = {
  readonly name: string
  readonly href: string
  readonly value: ReactNode
  readonly change: string
  readonly note?: string
}

function Tile({ name, href, value, change: changed, note = '' }: TileProps): ReactNode {
  return (
    <Anchor component={Link} href={href} className="panel" px="md" py="sm" miw={0} c="inherit" underline="never">
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fz={20} fw={600} className="number break" lh={1.3} component="div">
        {value}
      </Text>
      <Text size="xs" c="dimmed" className="number">
        {changed !== '' && <span title="Against the period of the same length before">{changed}</span>}
        {changed !== '' && note !== '' && ' · '}
        {note}
      </Text>
    </Anchor>
  )
}
