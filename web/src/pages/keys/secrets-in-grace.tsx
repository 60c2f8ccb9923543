// Old secrets in their grace period: time left, last use, and a button that ends each one immediately.
import { Button, Group, Progress, Table, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type KeyObject, useEndGrace } from '../../api/keys.ts'
import { useMayChange } from '../../api/session-context.ts'
import { notify, notifyError } from '../../components/notify.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { useNow } from '../../components/timestamp.tsx'
import { ago, countdown } from '../../format/numbers.ts'

const GRACE_MS = 60 * 60_000
// An old secret that has not been used for this long is shown as unused.
const UNUSED_MS = 5 * 60_000

const COLUMNS = [
  { name: 'Old secret' },
  { name: 'Expires in' },
  { name: 'Last used' },
  { name: 'End', isHidden: true, isRight: true, card: 'value' },
] as const

type Old = KeyObject['previous'][number]

export function SecretsInGrace({ of: key }: { readonly of: KeyObject }): ReactNode {
  const mayChange = useMayChange()
  const end = useEndGrace(key.id)
  const now = useNow()
  const endNow = (last4: string | undefined) =>
    end.mutate(last4, {
      onSuccess: () => notify('Grace period ended. The old secret no longer works.'),
      onError: notifyError,
    })

  return (
    <Panel
      flush
      title="Old secrets in grace period"
      about="These secrets keep working until they expire or you end them."
      actions={
        mayChange &&
        key.previous.length > 1 && (
          <Button size="xs" variant="default" loading={end.isPending} onClick={() => endNow(undefined)}>
            End all now
          </Button>
        )
      }
    >
      <TableFrame label="Old secrets" columns={COLUMNS}>
        {key.previous.map(old => (
          <Table.Tr key={`${old.last4} ${old.grace_expires_at}`}>
            <Table.Td className="mono">…{old.last4}</Table.Td>
            <Table.Td>
              <Countdown until={old.grace_expires_at} now={now} />
            </Table.Td>
            <Table.Td>
              <LastUse of={old} now={now} />
            </Table.Td>
            <Table.Td className="right">
              {mayChange && (
                <Button
                  size="compact-sm"
                  color="red.9"
                  loading={end.isPending && end.variables === old.last4}
                  onClick={() => endNow(old.last4)}
                >
                  End now
                </Button>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </TableFrame>
    </Panel>
  )
}

function Countdown({ until, now }: { readonly until: string | null; readonly now: number }): ReactNode {
  if (until === null) return <>–</>
  const left = Math.max(0, Date.parse(until) - now)
  return (
    <Group gap="sm" wrap="nowrap">
      <Text component="span" size="sm" fw={600} className="number" role="timer" title={`Expires at ${until}`}>
        {countdown(left)}
      </Text>
      <Progress
        value={(100 * left) / GRACE_MS}
        w={110}
        size="sm"
        color={left < 10 * 60_000 ? 'orange' : 'indigo'}
        aria-label="Remaining grace period"
      />
    </Group>
  )
}

function LastUse({ of: old, now }: { readonly of: Old; readonly now: number }): ReactNode {
  const idleMs = old.last_used_at === null ? undefined : now - Date.parse(old.last_used_at)
  const isUnused = idleMs === undefined || idleMs > UNUSED_MS
  return (
    <Text component="span" size="sm" title={old.last_used_at ?? undefined}>
      {idleMs === undefined ? 'never used' : ago(idleMs)}
      {' — '}
      <Text
        component="span"
        inherit
        fw={600}
        c={isUnused ? 'var(--mantine-color-green-light-color)' : 'var(--mantine-color-orange-light-color)'}
      >
        {isUnused ? 'not used in the last 5 minutes' : 'still in use'}
      </Text>
    </Text>
  )
}
