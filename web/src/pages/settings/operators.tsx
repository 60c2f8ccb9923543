// The list of operators, each with a role and a token of their own.
import { Button, Group, Menu, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPlus } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import {
  type OperatorObject,
  useOperators,
  useRemoveOperator,
  useRotateOperator,
  useUpdateOperator,
} from '../../api/operators.ts'
import { useMayChange } from '../../api/session-context.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify, notifyError } from '../../components/notify.tsx'
import { Panel } from '../../components/panel.tsx'
import { TableFrame } from '../../components/table-frame.tsx'
import { Ago, Timestamp } from '../../components/timestamp.tsx'
import { TypedConfirm } from '../../components/typed-confirm.tsx'
import { CreateOperator } from './create-operator.tsx'
import { NewToken } from './new-token.tsx'

const COLUMNS = [
  { name: 'Name' },
  { name: 'Role', card: 'unnamed' },
  { name: 'Created' },
  { name: 'Last used' },
  { name: 'Actions', isHidden: true, isRight: true, card: 'value' },
] as const

// The operator of TURNPIKE_ADMIN_TOKEN, which can be changed only there.
const ROOT_ID = 'op_root'

export function Operators(): ReactNode {
  const { data, error } = useOperators()
  const mayChange = useMayChange()
  const [isCreating, dialog] = useDisclosure(false)
  const [removing, setRemoving] = useState<OperatorObject>()
  const [token, setToken] = useState<string>()
  const remove = useRemoveOperator()
  return (
    <Panel
      flush
      title="Operators"
      about="Admins have full access. Viewers have read-only access."
      actions={
        mayChange && (
          <Button size="xs" leftSection={<IconPlus size={15} />} onClick={dialog.open}>
            Add operator
          </Button>
        )
      }
    >
      {error !== null && <ErrorAlert error={error} />}
      <TableFrame label="Operators" columns={COLUMNS}>
        {(data?.data ?? []).map(operator => (
          <Table.Tr key={operator.id}>
            <Table.Td>
              <span className="one-line" style={{ maxWidth: 260 }} title={operator.name}>
                {operator.name}
              </span>
            </Table.Td>
            <Table.Td>{operator.role}</Table.Td>
            <Table.Td>
              {operator.id === ROOT_ID ? 'from the environment' : <Timestamp at={operator.created_at} />}
            </Table.Td>
            <Table.Td>
              <Ago at={operator.last_used_at} />
            </Table.Td>
            <Table.Td className="right">
              {mayChange && operator.id !== ROOT_ID && (
                <Changes of={operator} onToken={setToken} onRemove={() => setRemoving(operator)} />
              )}
            </Table.Td>
          </Table.Tr>
        ))}
      </TableFrame>
      {isCreating && <CreateOperator onClose={dialog.close} onToken={setToken} />}
      {token !== undefined && <NewToken token={token} onClose={() => setToken(undefined)} />}
      {removing !== undefined && (
        <TypedConfirm
          title="Remove operator"
          name={removing.name}
          verb="Remove"
          isPending={remove.isPending}
          error={remove.error}
          onClose={() => setRemoving(undefined)}
          onConfirm={() =>
            remove.mutate(removing.id, {
              onSuccess: () => {
                notify('Operator removed. The token and sessions no longer work.')
                setRemoving(undefined)
              },
            })
          }
        >
          The token and all sessions of this operator stop working immediately.
        </TypedConfirm>
      )}
    </Panel>
  )
}

type ChangesProps = {
  readonly of: OperatorObject
  readonly onToken: (token: string) => void
  readonly onRemove: () => void
}

function Changes({ of: operator, onToken, onRemove }: ChangesProps): ReactNode {
  const rotate = useRotateOperator()
  const update = useUpdateOperator()
  const other = operator.role === 'admin' ? 'viewer' : 'admin'
  return (
    <Group justify="flex-end" gap="xs">
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="compact-sm" variant="default" loading={rotate.isPending || update.isPending}>
            Change
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            onClick={() =>
              rotate.mutate(operator.id, { onSuccess: ({ token }) => onToken(token), onError: notifyError })
            }
          >
            Issue new token
          </Menu.Item>
          <Menu.Item
            onClick={() =>
              update.mutate(
                { id: operator.id, role: other },
                { onSuccess: () => notify('Role changed.'), onError: notifyError },
              )
            }
          >
            Make {other === 'admin' ? 'an admin' : 'a viewer'}
          </Menu.Item>
          <Menu.Item color="red" onClick={onRemove}>
            Remove
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  )
}
