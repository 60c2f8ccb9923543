// The targets of a model, each with the state of its circuit breaker.
import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ModelObject } from '../../api/models.ts'
import type { HealthByProvider, TargetHealth } from '../../api/providers.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { percent } from '../../format/numbers.ts'

const SHOWN_MAX = 3

export const TARGET_STATES: Readonly<Record<TargetHealth['state'], string>> = {
  closed: 'healthy',
  open: 'down',
  half_open: 'recovering',
}

export function Targets({
  of: { targets },
  healthByProvider,
}: {
  readonly of: ModelObject
  readonly healthByProvider: HealthByProvider
}): ReactNode {
  const rest = targets.length - SHOWN_MAX
  return (
    <Group gap={6} wrap="nowrap">
      {targets.slice(0, SHOWN_MAX).map(({ provider, model }) => {
        const health = healthByProvider.get(provider)?.targets.find(each => each.model === model)
        return (
          <span key={`${provider} ${model}`} title={titleOf(`${provider}: ${model}`, health)}>
            <StateBadge state={health?.state ?? 'closed'} word={provider} />
          </span>
        )
      })}
      {rest > 0 && `+${rest} more`}
    </Group>
  )
}

function titleOf(name: string, health: TargetHealth | undefined): string {
  if (health === undefined) return `${name}: no data yet`
  const rate = health.success_rate === null ? '' : `, ${percent(health.success_rate)} success rate`
  return `${name}: ${TARGET_STATES[health.state]}${rate}`
}
