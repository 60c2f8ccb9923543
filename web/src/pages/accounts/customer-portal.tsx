// The customer portal of an account: a link to it, what keys the customer may create, and the open sessions.
import { Box, Button, Group, Table, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import type { PortalSessionObject } from '../../../../src/portal/sessions.ts'
import type { AccountObject } from '../../api/accounts.ts'
import { useEndPortalSession, usePortalSessions } from '../../api/portal.ts'
import { useMayChange } from '../../api/session-context.ts'
import { useSettings } from '../../api/settings.ts'
import { Credits } from '../../components/credits.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify, notifyError } from '../../components/notify.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago, Timestamp } from '../../components/timestamp.tsx'
import { count } from '../../format/numbers.ts'
import { PortalLimits } from './portal-limits.tsx'
import { PortalLink } from './portal-link.tsx'

export function CustomerPortal({ of: account }: { readonly of: AccountObject }): ReactNode {
  const { data: settings } = useSettings()
  const mayChange = useMayChange()
  const [isEditing, editing] = useDisclosure(false)
  if ((settings?.portal ?? null) === null) return null
  return (
    <Panel
      title="Customer portal"
      about="Where the customer sees usage and manages keys."
      actions={
        mayChange && (
          <Group gap="xs" justify="flex-end">
            <Button size="xs" variant="default" onClick={editing.open}>
              Edit limits of keys
            </Button>
            {account.status === 'active' && <PortalLink accountId={account.id} />}
          </Group>
        )
      }
    >
      <DescriptionList of={limitsOf(account)} />
      <Sessions accountId={account.id} mayChange={mayChange} />
      {isEditing && <PortalLimits of={account} onClose={editing.close} />}
    </Panel>
  )
}

function limitsOf({ portal_key_limits: limits }: AccountObject): readonly (readonly [string, ReactNode])[] {
  if (limits === null) return [['Limits of new keys', 'none']]
  const number = (value: number | null) => (value === null ? undefined : count(value))
  const all: readonly (readonly [string, ReactNode | undefined])[] = [
    ['Active keys', number(limits.max_keys)],
    ['Requests per minute', number(limits.rpm_limit)],
    ['Requests per day', number(limits.daily_limit)],
    ['Max concurrent', number(limits.max_concurrent)],
    [
      'Credit limit of a key',
      limits.credit_limit === null ? undefined : <Credits key="credits" value={limits.credit_limit} />,
    ],
    ['Keys expire within', limits.expires_in_days === null ? undefined : `${count(limits.expires_in_days)} days`],
    ['Models', limits.allowed_models.length === 0 ? undefined : limits.allowed_models.join(', ')],
  ]
  return all.filter(([, value]) => value !== undefined)
}

const COLUMNS = [
  { name: 'IP address' },
  { name: 'Opened' },
  { name: 'Last used' },
  { name: 'End', isHidden: true, isRight: true, card: 'value' },
] as const

function Sessions({ accountId, mayChange }: { readonly accountId: string; readonly mayChange: boolean }): ReactNode {
  const { data, error, refetch } = usePortalSessions(accountId)
  return (
    <>
      {error !== null && (
        <Box mt="sm">
          <ErrorAlert error={error} title="The open sessions could not be loaded" onRetry={() => void refetch()} />
        </Box>
      )}
      {data !== undefined && <SessionList of={data.data} accountId={accountId} mayChange={mayChange} />}
    </>
  )
}

type SessionListProps = {
  readonly of: readonly PortalSessionObject[]
  readonly accountId: string
  readonly mayChange: boolean
}

function SessionList({ of: sessions, accountId, mayChange }: SessionListProps): ReactNode {
  const end = useEndPortalSession(accountId)
  if (sessions.length === 0) {
    return (
      <Text size="sm" c="dimmed" mt="sm">
        No open sessions.
      </Text>
    )
  }
  return (
    <TableFrame label="Portal sessions" columns={COLUMNS}>
      {sessions.map(({ id, address, created_at, last_used_at }) => (
        <Table.Tr key={id}>
          <Table.Td className="mono">{address}</Table.Td>
          <Table.Td>
            <Timestamp at={created_at} />
          </Table.Td>
          <Table.Td>
            <Ago at={last_used_at} />
          </Table.Td>
          <Table.Td className="right">
            {mayChange && (
              <Button
                size="compact-sm"
                variant="default"
                loading={end.isPending && end.variables === id}
                onClick={() =>
                  end.mutate(id, { onSuccess: () => notify('Portal session ended.'), onError: notifyError })
                }
              >
                End session
              </Button>
            )}
          </Table.Td>
        </Table.Tr>
      ))}
    </TableFrame>
  )
}
