// Why a request ended as it did: one sentence with the actions that help, and what the client received.
import { Alert, Anchor, Group, Text } from '@mantine/core'
import { IconAlertTriangle, IconBan, IconCircleCheck, IconInfoCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useMayChange } from '../../api/session-context.ts'
import type { UsageRow } from '../../api/usage.ts'
import { amount, amountWithUnit, isLess } from '../../format/amounts.ts'
import { withoutControls } from '../../format/isolated.ts'
import { clientMessage, type Explanation, explain } from './explain.ts'

const LOOKS = {
  good: { color: 'green', icon: IconCircleCheck },
  refused: { color: 'orange', icon: IconBan },
  failed: { color: 'red', icon: IconAlertTriangle },
  neutral: { color: 'blue', icon: IconInfoCircle },
} as const satisfies Record<Explanation['tone'], unknown>

export function Reason({ of: row }: { readonly of: UsageRow }): ReactNode {
  const mayChange = useMayChange()
  const { tone, sentence, actions } = explain(row)
  const message = clientMessage(row)
  const { color, icon: Icon } = LOOKS[tone]
  return (
    <Alert color={color} icon={<Icon size={20} />} py="sm" role="note" aria-label="Outcome">
      <Group gap="xs" justify="space-between" align="baseline">
        <Text size="sm" fw={600} className="break" flex="1 1 300px">
          <bdi>{sentence}</bdi>
        </Text>
        {mayChange &&
          actions.map(({ label, href }) => (
            <Anchor key={label} component={Link} href={href} size="sm" fw={600}>
              {label}
            </Anchor>
          ))}
      </Group>
      {row.error_code !== null && (
        <Text size="xs" c="dimmed" mt={4} className="break">
          The client received {row.http_status === null ? '' : `HTTP ${row.http_status} `}
          <span className="mono">{row.error_code}</span>
          {message === null ? '.' : `: ${withoutControls(message)}`}
        </Text>
      )}
    </Alert>
  )
}

// A request whose provider cost more than the client paid.
export function SoldAtLoss({ of: { cost, upstream_cost: paid, model_served: model } }: { readonly of: UsageRow }) {
  if (paid === null || !isLess(cost, paid)) return null
  return (
    <Alert color="red" icon={<IconAlertTriangle size={20} />} py="sm" title="Sold at a loss">
      <Group gap="xs" justify="space-between" align="baseline">
        <Text size="sm">
          The client paid {amountWithUnit(cost)}; the provider cost {amount(paid)}.
        </Text>
        <Anchor component={Link} href={`/models?q=${encodeURIComponent(model ?? '')}`} size="sm" fw={600}>
          Open model prices
        </Anchor>
      </Group>
    </Alert>
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
