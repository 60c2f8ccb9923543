// The targets of a model, each with its health.
import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ModelObject } from '../../api/models.ts'
import type { HealthByProvider, TargetHealth } from '../../api/providers.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { recentOf, statusLabel, statusState } from '../../components/target-health.tsx'

const SHOWN_MAX = 3

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
            <StateBadge state={health === undefined ? 'closed' : statusState(health.status)} word={provider} />
          </span>
        )
      })}
      {rest > 0 && `+${rest} more`}
    </Group>
  )
}

function titleOf(name: string, health: TargetHealth | undefined): string {
  if (health === undefined) return `${name}: no data yet`
  const { requests, failures } = recentOf([health])
  const recent = requests === 0 ? '' : `, ${failures} of ${requests} failed in the last 10 minutes`
  return `${name}: ${statusLabel(health.status)}${recent}`
}
