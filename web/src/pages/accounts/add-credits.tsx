// The dialog that adds or deducts credits. Its Idempotency-Key is created when the dialog opens, so a double click or a retry
// after a lost response applies once.
import { Button, Group, Modal, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type AccountObject, useAddCredits } from '../../api/accounts.ts'
import { ApiError } from '../../api/call.ts'
import { newIdempotencyKey } from '../../api/idempotency-key.ts'
import { Credits } from '../../components/credits.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { amount, amountWithUnit, enteredAmount, isTopUp, TOP_UP_RULE } from '../../format/amounts.ts'
import { isZero } from '../../format/decimals.ts'

export type AddCreditsProps = {
  readonly of: AccountObject
  readonly kind: 'topup' | 'adjustment'
  readonly onClose: () => void
}

export function AddCredits({ of: account, kind, onClose }: AddCreditsProps): ReactNode {
  const [once] = useState(newIdempotencyKey)
  const [entered, setEntered] = useState('')
  const [note, setNote] = useState('')
  const [direction, setDirection] = useState(kind === 'topup' ? '' : '-')
  const change = useAddCredits(account.id, once)
  const trimmed = entered.trim()
  const isGood = isTopUp(trimmed)
  const title = kind === 'topup' ? 'Add credits' : 'Adjust balance'

  function submit(): void {
    if (!isGood || change.isPending) return
    change.mutate(
      { amount: `${direction}${trimmed}`, ...(note.trim() === '' ? {} : { note: note.trim() }) },
      {
        onSuccess: entry => {
          notify(`Balance changed by ${amountWithUnit(entry.amount)}.`)
          onClose()
        },
      },
    )
  }

  return (
    <Modal opened onClose={onClose} title={title}>
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <Stack gap="sm">
          <Text size="sm">
            <span className="name">{account.name}</span> has <Credits value={account.balance.available} hasUnit />{' '}
            available
            {isZero(account.balance.owed)
              ? '.'
              : ` and is overdrawn by ${amount(account.balance.owed)}, which is settled first.`}
          </Text>
          {kind === 'adjustment' && (
            <SegmentedControl
              aria-label="Direction"
              data={[
                { value: '-', label: 'Debit' },
                { value: '', label: 'Credit' },
              ]}
              value={direction}
              onChange={setDirection}
            />
          )}
          <TextInput
            label="Amount in credits"
            description={enteredAmount(trimmed)}
            placeholder="10.00"
            inputMode="decimal"
            required
            data-autofocus
            value={entered}
            onChange={event => setEntered(event.currentTarget.value)}
            error={trimmed !== '' && !isGood ? TOP_UP_RULE : undefined}
          />
          <Textarea
            label="Note"
            description="Shown in the ledger, such as an invoice number or a reason"
            maxLength={1000}
            autosize
            value={note}
            onChange={event => setNote(event.currentTarget.value)}
          />
          {change.error !== null && <ErrorAlert error={change.error} {...messageFor(change.error)} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={change.isPending} disabled={!isGood}>
              {kind === 'topup' ? 'Add' : 'Apply'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

// A lost response does not tell whether the change was applied; sending it again does.
function messageFor(error: Error): { readonly title: string; readonly hint?: string } {
  const code = error instanceof ApiError ? error.code : ''
  if (code === 'unreachable') {
    return { title: 'The change may or may not have been applied', hint: 'Try again: it will be applied only once.' }
  }
  if (code === 'idempotency_mismatch') {
    return {
      title: 'Your first attempt was applied',
      hint: 'It had a different amount or note. Close this dialog and check the ledger.',
    }
  }
  return { title: 'The balance was not changed' }
}
