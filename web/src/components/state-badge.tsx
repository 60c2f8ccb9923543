// A state as a coloured dot and a label, so that it never depends on colour alone.
import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

const COLOURS: Readonly<Record<string, string>> = {
  active: 'green',
  alive: 'green',
  ok: 'green',
  completed: 'green',
  answered: 'green',
  closed: 'green',
  settled: 'green',
  delivered: 'green',
  revoked: 'red',
  suspended: 'red',
  dead: 'red',
  open: 'red',
  away: 'red',
  silent: 'red',
  failed: 'red',
  upstream_failed: 'red',
  upstream_broke: 'red',
  expired: 'gray',
  inactive: 'gray',
  canceled: 'gray',
  none: 'gray',
  limit_reached: 'orange',
  budget_reached: 'orange',
  out_of_credits: 'red',
  refused: 'orange',
  suspected: 'orange',
  failing: 'orange',
  limited: 'orange',
  half_open: 'orange',
  recovered: 'orange',
  client_left: 'yellow',
}

// Labels that differ from the API's value.
export const STATE_LABELS: Readonly<Record<string, string>> = {
  dead: 'rejected',
  limited: 'rate limited',
  silent: 'not responding',
  away: 'unavailable',
}

export function StateBadge({ state, word }: { readonly state: string; readonly word?: string }): ReactNode {
  return (
    <Badge
      variant="dot"
      color={COLOURS[state] ?? 'blue'}
      size="md"
      tt="none"
      fw={500}
      styles={{ root: { flex: 'none' } }}
    >
      {word ?? STATE_LABELS[state] ?? state.replaceAll('_', ' ')}
    </Badge>
  )
}
