// The list of dashboard sessions, with a button that ends each one.
import { Badge, Button, Group, Table } from '@mantine/core'
import type { ReactNode } from 'react'
import { useEndSession, useSessions } from '../../api/operators.ts'
import { useMayChange, useSession } from '../../api/session-context.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify, notifyError } from '../../components/notify.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago, Timestamp } from '../../components/timestamp.tsx'

const COLUMNS = [
  { name: 'Operator' },
  { name: 'IP address', card: 'unnamed' },
  { name: 'Signed in' },
  { name: 'Last used' },
  { name: 'Expires' },
  { name: 'Idle timeout' },
  { name: 'End', isHidden: true, isRight: true, card: 'value' },
] as const

export function Sessions(): ReactNode {
  const { data, error } = useSessions()
  const mayChange = useMayChange()
  const own = useSession()
  const end = useEndSession()
  return (
    <Panel title="Sessions" about="Active dashboard sessions." flush>
      {error !== null && <ErrorAlert error={error} />}
      <TableFrame label="Sessions" columns={COLUMNS}>
        {(data?.data ?? []).map(session => (
          <Table.Tr key={session.id}>
            <Table.Td>
              <Group gap={6} wrap="nowrap">
                <span className="one-line" style={{ maxWidth: 220 }}>
                  {session.operator.name}
                </span>
                {session.id === own.id && (
                  <Badge variant="light" size="sm" tt="none">
                    current
                  </Badge>
                )}
              </Group>
            </Table.Td>
            <Table.Td className="mono">{session.address}</Table.Td>
            <Table.Td>
              <Timestamp at={session.created_at} />
            </Table.Td>
            <Table.Td>
              <Ago at={session.last_used_at} />
            </Table.Td>
            <Table.Td>
              <Timestamp at={session.expires_at} />
            </Table.Td>
            <Table.Td>
              <Timestamp at={session.idle_expires_at} />
            </Table.Td>
            <Table.Td className="right">
              {mayChange && session.id !== own.id && (
                <Button
                  size="compact-sm"
                  variant="default"
                  loading={end.isPending && end.variables === session.id}
                  onClick={() =>
                    end.mutate(session.id, { onSuccess: () => notify('Session ended.'), onError: notifyError })
                  }
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
