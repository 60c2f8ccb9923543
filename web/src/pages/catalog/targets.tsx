// Who serves a model, each with the state of its breaker.
import { Group } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ModelObject } from '../../api/models.ts'
import type { HealthByProvider, TargetHealth } from '../../api/providers.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { percent } from '../../format/numbers.ts'

const SHOWN_MAX = 3

export const TARGET_WORDS: Readonly<Record<TargetHealth['state'], string>> = {
  closed: 'well',
  open: 'set aside',
  half_open: 'on trial',
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
      {rest > 0 && `and ${rest} more`}
    </Group>
  )
}

function titleOf(name: string, health: TargetHealth | undefined): string {
  if (health === undefined) return `${name}, not used yet`
  const rate = health.success_rate === null ? '' : `, ${percent(health.success_rate)} succeed`
  return `${name}, ${TARGET_WORDS[health.state]}${rate}`
}
