// Old secrets that still work: how long each has left, whether it is still in use, and the button that ends it now.
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
// Callers that were not heard with the old secret for so long have probably changed over.
const QUIET_MS = 5 * 60_000

const COLUMNS = [
  { name: 'Old secret' },
  { name: 'Works for another' },
  { name: 'Last used' },
  { name: 'End', isHidden: true, isRight: true },
]

type Old = KeyObject['previous'][number]

export function SecretsInGrace({ of: key }: { readonly of: KeyObject }): ReactNode {
  const mayChange = useMayChange()
  const end = useEndGrace(key.id)
  const now = useNow()
  const endNow = (last4: string | undefined) =>
    end.mutate(last4, {
      onSuccess: () => notify('Ended: the old secret is refused from now on.'),
      onError: notifyError,
    })

  return (
    <Panel
      flush
      title="Old secrets in their grace period"
      about="Each keeps working beside the new one until its time is up, or until you end it."
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
      <Text component="span" size="sm" fw={600} className="number" role="timer" title={`until ${until}`}>
        {countdown(left)}
      </Text>
      <Progress
        value={(100 * left) / GRACE_MS}
        w={110}
        size="sm"
        color={left < 10 * 60_000 ? 'orange' : 'indigo'}
        aria-label="Part of the grace period that is left"
      />
    </Group>
  )
}

function LastUse({ of: old, now }: { readonly of: Old; readonly now: number }): ReactNode {
  const silentMs = old.last_used_at === null ? undefined : now - Date.parse(old.last_used_at)
  const isQuiet = silentMs === undefined || silentMs > QUIET_MS
  return (
    <Text component="span" size="sm" title={old.last_used_at ?? undefined}>
      {silentMs === undefined ? 'never used' : `last used ${ago(silentMs)}`}
      {' — '}
      <Text
        component="span"
        inherit
        fw={600}
        c={isQuiet ? 'var(--mantine-color-green-light-color)' : 'var(--mantine-color-orange-light-color)'}
      >
        {isQuiet ? 'safe to end' : 'still in use'}
      </Text>
    </Text>
  )
}
