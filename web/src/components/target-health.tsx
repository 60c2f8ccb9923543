// The health of a target or provider in words that can be checked: a status, and the outcomes of its recent requests.
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { HealthObject, TargetHealth } from '../api/providers.ts'
import { count, duration } from '../format/numbers.ts'
import { StateBadge } from './state-badge.tsx'
import { useNow } from './timestamp.tsx'

type Status = TargetHealth['status'] | HealthObject['status']

// A record, so that a new status is a type error until it has a label.
const STATUSES: Readonly<Record<Status, { readonly label: string; readonly state: string }>> = {
  healthy: { label: 'Healthy', state: 'ok' },
  degraded: { label: 'Degraded', state: 'failing' },
  down: { label: 'Down', state: 'open' },
  disabled: { label: 'Disabled', state: 'inactive' },
  unused: { label: 'Not in use', state: 'inactive' },
}

export function statusLabel(status: Status): string {
  return STATUSES[status].label
}

export function statusState(status: Status): string {
  return STATUSES[status].state
}

// A target that is down is tried again after a pause.
export function HealthBadge({
  status,
  until = null,
}: {
  readonly status: Status
  readonly until?: string | null
}): ReactNode {
  const now = useNow()
  const { label, state } = STATUSES[status]
  const left = until === null ? 0 : Math.ceil((Date.parse(until) - now) / 1000)
  const retry = status !== 'down' ? '' : left > 0 ? ` (retrying in ${left} s)` : ' (retrying)'
  return <StateBadge state={state} word={label + retry} />
}

type Recent = Pick<TargetHealth, 'recent_requests' | 'recent_failures'>

export function RecentFailures({ of }: { readonly of: readonly Recent[] }): ReactNode {
  const { requests, failures } = recentOf(of)
  if (requests === 0)
    return (
      <Text span inherit c="dimmed">
        no requests
      </Text>
    )
  return <>{failures === 0 ? `none of ${count(requests)} failed` : `${count(failures)} of ${count(requests)} failed`}</>
}

export function recentOf(of: readonly Recent[]): { readonly requests: number; readonly failures: number } {
  return {
    requests: of.reduce((sum, each) => sum + each.recent_requests, 0),
    failures: of.reduce((sum, each) => sum + each.recent_failures, 0),
  }
}

// The mean over targets, weighted by the requests that succeeded.
export function meanFirstByte(targets: readonly TargetHealth[]): string {
  let [sum, weight] = [0, 0]
  for (const { recent_first_byte_ms: ms, recent_requests, recent_failures } of targets) {
    if (ms === null) continue
    const answered = Math.max(1, recent_requests - recent_failures)
    sum += ms * answered
    weight += answered
  }
  return duration(weight === 0 ? null : sum / weight)
}
