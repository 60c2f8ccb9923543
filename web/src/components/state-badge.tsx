// The state of something as a dot and a word: never the colour alone.
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
  revoked: 'red',
  suspended: 'red',
  dead: 'red',
  open: 'red',
  away: 'red',
  silent: 'red',
  upstream_failed: 'red',
  upstream_broke: 'red',
  expired: 'gray',
  inactive: 'gray',
  none: 'gray',
  refused: 'orange',
  suspected: 'orange',
  limited: 'orange',
  half_open: 'orange',
  recovered: 'orange',
  client_left: 'yellow',
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
      {word ?? state.replaceAll('_', ' ')}
    </Badge>
  )
}
