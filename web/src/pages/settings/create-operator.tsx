// The dialog that adds an operator.
import { Button, Group, Modal, Radio, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useCreateOperator } from '../../api/operators.ts'
import type { Role } from '../../api/session.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'

type Props = { readonly onClose: () => void; readonly onToken: (token: string) => void }

export function CreateOperator({ onClose, onToken }: Props): ReactNode {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const create = useCreateOperator()

  function submit(): void {
    if (create.isPending) return
    create.mutate(
      { name, role },
      {
        onSuccess: ({ token }) => {
          onClose()
          onToken(token)
        },
      },
    )
  }

  return (
    <Modal opened onClose={onClose} title="Add operator">
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            description="Shown in the audit log"
            required
            maxLength={200}
            data-autofocus
            value={name}
            onChange={event => setName(event.currentTarget.value)}
          />
          <Radio.Group label="Role" value={role} onChange={value => setRole(value as Role)}>
            <Stack gap={6} mt={4}>
              <Radio value="viewer" label="Viewer: read-only access" />
              <Radio value="admin" label="Admin: full access" />
            </Stack>
          </Radio.Group>
          {create.error !== null && <ErrorAlert error={create.error} title="The operator was not added" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
              Add
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
