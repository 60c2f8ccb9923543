// The dialog that books credits. Its Idempotency-Key is made when it opens: a double click, or a second try after an answer
// that was lost, books once.
import { Button, Group, Modal, SegmentedControl, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { type AccountObject, useAddCredits } from '../../api/accounts.ts'
import { ApiError } from '../../api/call.ts'
import { Credits } from '../../components/credits.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { notify } from '../../components/notify.tsx'
import { groupDecimal, isZero, readDecimal } from '../../format/decimals.ts'

export type AddCreditsProps = {
  readonly of: AccountObject
  readonly kind: 'topup' | 'adjustment'
  readonly onClose: () => void
}

export function AddCredits({ of: account, kind, onClose }: AddCreditsProps): ReactNode {
  const [once] = useState(newKey)
  const [amount, setAmount] = useState('')
  const [note, setNote] = useState('')
  const [direction, setDirection] = useState(kind === 'topup' ? '' : '-')
  const book = useAddCredits(account.id, once)
  const trimmed = amount.trim()
  const isGood = readDecimal(trimmed)?.sign === '' && !isZero(trimmed) && /^\d{1,10}(\.\d{1,9})?$/.test(trimmed)
  const words = kind === 'topup' ? 'Add credits' : 'Adjust the balance'

  function submit(): void {
    if (!isGood || book.isPending) return
    book.mutate(
      { amount: `${direction}${trimmed}`, ...(note.trim() === '' ? {} : { note: note.trim() }) },
      {
        onSuccess: entry => {
          notify(`Booked: ${groupDecimal(entry.amount)} credits.`)
          onClose()
        },
      },
    )
  }

  return (
    <Modal opened onClose={onClose} title={words}>
      <form
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
        <Stack gap="sm">
          <Text size="sm">
            <span className="name">{account.name}</span> has <Credits value={account.balance.available} /> credits
            available
            {isZero(account.balance.owed)
              ? '.'
              : ` and owes ${groupDecimal(account.balance.owed)}, which is paid first.`}
          </Text>
          {kind === 'adjustment' && (
            <SegmentedControl
              aria-label="Direction"
              data={[
                { value: '-', label: 'Take away' },
                { value: '', label: 'Give' },
              ]}
              value={direction}
              onChange={setDirection}
            />
          )}
          <TextInput
            label="Amount, in credits"
            placeholder="10.00"
            inputMode="decimal"
            required
            data-autofocus
            value={amount}
            onChange={event => setAmount(event.currentTarget.value)}
            error={
              trimmed !== '' && !isGood ? 'An amount above zero with at most nine decimals, like 10.00' : undefined
            }
          />
          <Textarea
            label="Note"
            description="For the ledger: an invoice, a reason"
            maxLength={1000}
            autosize
            value={note}
            onChange={event => setNote(event.currentTarget.value)}
          />
          {book.error !== null && <ErrorAlert error={book.error} {...wordsFor(book.error)} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={book.isPending} disabled={!isGood}>
              {kind === 'topup' ? 'Add' : 'Book'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

// An answer that was lost says nothing about what was booked; the same try again does.
function wordsFor(error: Error): { readonly title: string; readonly doing?: string } {
  const code = error instanceof ApiError ? error.code : ''
  if (code === 'unreachable') {
    return { title: 'It is not known whether this was booked', doing: 'Press the button again: it counts once.' }
  }
  if (code === 'idempotency_mismatch') {
    return {
      title: 'Your first try was booked',
      doing: 'It had another amount or note. Close this and look at the ledger.',
    }
  }
  return { title: 'Nothing was booked' }
}

// crypto.randomUUID is for secure pages only; this is there on plain HTTP too.
function newKey(): string {
  return `web-${Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')}`
}
