// Old secrets in their grace period: time left, last use, and a button that ends each one immediately, once it is confirmed.
import { Button, Group, Modal, Progress, Stack, Table, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type KeyObject, useEndGrace } from '../../api/keys.ts'
import { useMayChange } from '../../api/session-context.ts'
import { ago, countdown } from '../../format/numbers.ts'
import { notify, notifyError } from '../notify.tsx'
import { Panel } from '../panel.tsx'
import { TableFrame } from '../table-frame.tsx'
import { useNow } from '../timestamp.tsx'

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

export function SecretsInGrace({ of: key }: { readonly of: Pick<KeyObject, 'id' | 'previous'> }): ReactNode {
  const mayChange = useMayChange()
  const end = useEndGrace(key.id)
  const now = useNow()
  // The last four characters, or all of them.
  const [ending, setEnding] = useState<string | 'all'>()
  const endNow = () =>
    end.mutate(ending === 'all' ? undefined : ending, {
      onSuccess: () => notify('Grace period ended. The old secret no longer works.'),
      onError: notifyError,
      onSettled: () => setEnding(undefined),
    })

  return (
    <Panel
      flush
      title="Old secrets in grace period"
      about="These secrets keep working until they expire or you end them."
      actions={
        mayChange &&
        key.previous.length > 1 && (
          <Button size="xs" variant="default" onClick={() => setEnding('all')}>
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
                <Button size="compact-sm" color="red.9" onClick={() => setEnding(old.last4)}>
                  End now
                </Button>
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </TableFrame>
      {ending !== undefined && (
        <EndNow
          noun={ending === 'all' ? 'all old secrets' : `the old secret …${ending}`}
          isPending={end.isPending}
          onConfirm={endNow}
          onClose={() => setEnding(undefined)}
        />
      )}
    </Panel>
  )
}

type EndNowProps = {
  readonly noun: string
  readonly isPending: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}

function EndNow({ noun, isPending, onConfirm, onClose }: EndNowProps): ReactNode {
  return (
    <Modal opened onClose={onClose} title={`End ${noun} now?`}>
      <Stack gap="sm">
        <Text size="sm">
          Clients that still use it get 401 from their next request on. A secret that was not used for a while may
          belong to a job that runs once a day. This cannot be undone.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            Cancel
          </Button>
          <Button color="red.9" loading={isPending} onClick={onConfirm}>
            End grace period
          </Button>
        </Group>
      </Stack>
    </Modal>
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
      {idleMs === undefined ? '' : `${ago(idleMs)} — `}
      <Text
        component="span"
        inherit
        fw={600}
        c={isUnused ? 'var(--mantine-color-green-light-color)' : 'var(--mantine-color-orange-light-color)'}
      >
        {idleMs === undefined ? 'never used' : isUnused ? 'not used in the last 5 minutes' : 'still in use'}
      </Text>
    </Text>
  )
}
