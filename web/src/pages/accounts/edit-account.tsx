// The dialog that changes an account: its name, contact, whether it is active, its budgets and its low balance.
import { Button, Group, Modal, Stack, Switch, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type AccountObject, useUpdateAccount } from '../../api/accounts.ts'
import { BudgetFields, budgetError, budgetFieldsOf, budgetInputsOf } from '../../components/budget-fields.tsx'
import { ConflictAlert } from '../../components/conflict-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { ContactFields, changedContact, contactOf } from './contact-fields.tsx'

type Props = { readonly of: AccountObject; readonly onClose: () => void }

export function EditAccount({ of: latest, onClose }: Props): ReactNode {
  // The version that the form was filled from: later changes by others must not count as this operator's.
  const [account, setAccount] = useState(latest)
  const [name, setName] = useState(account.name)
  const [isActive, setActive] = useState(account.status === 'active')
  const [budgets, setBudgets] = useState(() => budgetFieldsOf(account.budgets))
  const [lowBalance, setLowBalance] = useState(account.low_balance ?? '')
  const [contact, setContact] = useState(() => contactOf(account))
  const [error, setError] = useState<string | null>(null)
  const update = useUpdateAccount(account)
  const reload = () => {
    setAccount(latest)
    setName(latest.name)
    setActive(latest.status === 'active')
    setBudgets(budgetFieldsOf(latest.budgets))
    setLowBalance(latest.low_balance ?? '')
    setContact(contactOf(latest))
    update.reset()
  }
  const status = isActive ? 'active' : 'suspended'

  function submit(): void {
    if (update.isPending) return
    const wrong = budgetError(budgets)
    setError(wrong)
    if (wrong !== null) return
    const inputs = budgetInputsOf(budgets)
    const low = lowBalance.trim() === '' ? null : lowBalance.trim()
    const isSame = JSON.stringify(inputs) === JSON.stringify(budgetInputsOf(budgetFieldsOf(account.budgets)))
    const change = {
      ...(name === account.name ? {} : { name }),
      ...(status === account.status ? {} : { status: status as AccountObject['status'] }),
      ...(isSame ? {} : { budgets: inputs }),
      ...(low === account.low_balance ? {} : { low_balance: low }),
      ...changedContact(contact, account),
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
          <ContactFields value={contact} onChange={setContact} />
          <BudgetFields value={budgets} onChange={setBudgets} error={error} />
          <TextInput
            label="Low balance"
            description="Raise an event when less than this many credits are available. Leave empty for none."
            inputMode="decimal"
            placeholder="never"
            value={lowBalance}
            onChange={event => setLowBalance(event.currentTarget.value)}
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
