// Why a request was refused or failed: the message, and the figures of the limit.
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { UsageRow } from '../../api/usage.ts'
import { DescriptionList } from '../../components/description-list.tsx'
import { Panel } from '../../components/panel.tsx'

export function Reason({ of: row }: { readonly of: UsageRow }): ReactNode {
  const { error_message: message, error_detail: detail } = row
  if (message === null) return null
  const figures = Object.entries(detail ?? {}).filter(([name]) => name !== 'attempts')
  return (
    <Panel title="Reason">
      <Text size="sm" className="break" mb={figures.length === 0 ? 0 : 'sm'}>
        {message}
      </Text>
      {figures.length > 0 && (
        <DescriptionList of={figures.map(([name, value]) => [name.replaceAll('_', ' '), String(value)] as const)} />
      )}
    </Panel>
  )
}

// What the provider of each failed attempt said, in the order of the attempts; undefined for those that did not fail.
export function attemptErrors({ attempts, error_detail: detail }: UsageRow): readonly (string | undefined)[] {
  const failed = Array.isArray(detail?.attempts) ? [...(detail.attempts as readonly FailedAttempt[])] : []
  return attempts.map(({ provider, model }) => {
    const [next] = failed
    if (next?.provider !== provider || next.model !== model) return undefined
    failed.shift()
    return next.error
  })
}

type FailedAttempt = { readonly provider: string; readonly model: string; readonly error: string }
