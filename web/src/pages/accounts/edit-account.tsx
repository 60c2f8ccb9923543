// The dialog that renames, suspends or reactivates an account.
import { Button, Group, Modal, Stack, Switch, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type AccountObject, useUpdateAccount } from '../../api/accounts.ts'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'

type Props = { readonly of: AccountObject; readonly onClose: () => void }

export function EditAccount({ of: latest, onClose }: Props): ReactNode {
  // The version that the form was filled from: later changes by others must not count as this operator's.
  const [account, setAccount] = useState(latest)
  const [name, setName] = useState(account.name)
  const [isActive, setActive] = useState(account.status === 'active')
  const update = useUpdateAccount(account)
  const reload = () => {
    setAccount(latest)
    setName(latest.name)
    setActive(latest.status === 'active')
    update.reset()
  }
  const status = isActive ? 'active' : 'suspended'

  function submit(): void {
    if (update.isPending) return
    const change = {
      ...(name === account.name ? {} : { name }),
      ...(status === account.status ? {} : { status: status as AccountObject['status'] }),
    }
    update.mutate(change, {
      onSuccess: () => {
        notify('Account updated.')
        onClose()
      },
    })
  }

  return (
    <Modal opened onClose={onClose} title="Edit account">
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            required
            maxLength={200}
            data-autofocus
            value={name}
            onChange={event => setName(event.currentTarget.value)}
          />
          <Switch
            label="Active"
            description="While an account is suspended, all requests with its keys are rejected."
            checked={isActive}
            onChange={event => setActive(event.currentTarget.checked)}
          />
          {update.error !== null && <ConflictAlert error={update.error} noun="account" onReload={reload} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={update.isPending} disabled={name.trim() === ''}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
