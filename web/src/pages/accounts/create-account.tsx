// The dialog that creates an account, with its first credits. These are a second call: if it fails, the dialog stays and repeats
// that call alone, with the same idempotency key. While a call runs, the dialog cannot be closed.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { useCreateAccount } from '../../api/accounts.ts'
import { ApiError } from '../../api/call.ts'
import { newIdempotencyKey } from '../../api/idempotency-key.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { enteredAmount, isTopUp, TOP_UP_RULE } from '../../format/amounts.ts'
import { ContactFields, NO_CONTACT } from './contact-fields.tsx'

export function CreateAccount({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [name, setName] = useState('')
  const [contact, setContact] = useState(NO_CONTACT)
  const [entered, setEntered] = useState('')
  const [once] = useState(newIdempotencyKey)
  const [, goTo] = useLocation()
  const { create, credit } = useCreateAccount(once)
  const credits = entered.trim()
  // How adding the credits failed. After one attempt whose result is unknown, a later refusal does not tell that nothing was added.
  const [failure, setFailure] = useState<'refused' | 'unknown'>()
  const made = create.data
  const isGood = name.trim() !== '' && (isTopUp(credits) || (credits === '' && made === undefined))
  const isPending = create.isPending || credit.isPending

  async function submit(): Promise<void> {
    if (!isGood || isPending) return
    const given = Object.entries(contact).flatMap(([field, text]) => (text.trim() === '' ? [] : [[field, text.trim()]]))
    const { id } = made ?? (await create.mutateAsync({ name, ...Object.fromEntries(given) }))
    if (credits !== '') {
      await credit.mutateAsync(
        { id, amount: credits },
        { onError: error => setFailure(before => (before === 'unknown' || !isRefusal(error) ? 'unknown' : 'refused')) },
      )
    }
    goTo(`/accounts/${id}`)
  }

  return (
    <Modal opened onClose={() => !isPending && onClose()} title="Create account">
      <form
        onSubmit={event => {
          event.preventDefault()
          // Errors are shown below.
          submit().catch(() => undefined)
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            description="A customer, team or project"
            required
            maxLength={200}
            data-autofocus
            disabled={made !== undefined}
            value={name}
            onChange={event => setName(event.currentTarget.value)}
          />
          {made === undefined && <ContactFields value={contact} onChange={setContact} />}
          <TextInput
            label="Starting credits"
            description={enteredAmount(credits) ?? 'Without credits, requests to priced models are refused'}
            placeholder="0"
            inputMode="decimal"
            // What may have been added is repeated as it was.
            disabled={failure === 'unknown'}
            readOnly={isPending}
            value={entered}
            onChange={event => setEntered(event.currentTarget.value)}
            error={credits === '' || isTopUp(credits) ? undefined : TOP_UP_RULE}
          />
          {create.error !== null && <ErrorAlert error={create.error} title="The account was not created" />}
          {credit.error !== null && <ErrorAlert error={credit.error} {...messageFor(failure)} />}
          <Group justify="flex-end">
            <Button
              variant="default"
              disabled={isPending}
              onClick={made === undefined ? onClose : () => goTo(`/accounts/${made.id}`)}
            >
              {made === undefined ? 'Cancel' : 'Open account'}
            </Button>
            <Button type="submit" loading={isPending} disabled={!isGood}>
              {failure === undefined ? 'Create' : 'Add credits again'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

// The server has answered that it did nothing.
function isRefusal(error: Error): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500
}

function messageFor(failure: 'refused' | 'unknown' | undefined): { readonly title: string; readonly hint?: string } {
  if (failure === 'refused') return { title: 'The account was created, but its credits were refused' }
  return {
    title: 'The account was created, but its credits may not have been added',
    hint: 'Try again: they will be added only once.',
  }
}
