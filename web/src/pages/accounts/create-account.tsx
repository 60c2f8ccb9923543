// The dialog that creates an account, with its first credits. These are a second call: if it fails, the dialog stays and repeats
// that call alone, with the same idempotency key.
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { useLocation } from 'wouter'
import { useCreateAccount } from '../../api/accounts.ts'
import { newIdempotencyKey } from '../../api/idempotency-key.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { amount, isTopUp, TOP_UP_RULE } from '../../format/amounts.ts'
import { unit } from '../../format/currency.ts'
import { ContactFields, NO_CONTACT } from './contact-fields.tsx'

export function CreateAccount({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [name, setName] = useState('')
  const [contact, setContact] = useState(NO_CONTACT)
  const [entered, setEntered] = useState('')
  const [once] = useState(newIdempotencyKey)
  const [, goTo] = useLocation()
  const { create, credit } = useCreateAccount(once)
  const credits = entered.trim()
  const isGood = name.trim() !== '' && (credits === '' || isTopUp(credits))
  const isPending = create.isPending || credit.isPending
  const made = create.data

  async function submit(): Promise<void> {
    if (!isGood || isPending) return
    const given = Object.entries(contact).flatMap(([field, text]) => (text.trim() === '' ? [] : [[field, text.trim()]]))
    const { id } = made ?? (await create.mutateAsync({ name, ...Object.fromEntries(given) }))
    if (credits !== '') await credit.mutateAsync({ id, amount: credits })
    goTo(`/accounts/${id}`)
  }

  return (
    <Modal opened onClose={onClose} title="Create account">
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
            description={
              isTopUp(credits) && unit() !== 'credits'
                ? `= ${amount(credits)}`
                : 'Without credits, requests to priced models are refused'
            }
            placeholder="0"
            inputMode="decimal"
            // What was sent once is repeated as it was.
            disabled={made !== undefined}
            value={entered}
            onChange={event => setEntered(event.currentTarget.value)}
            error={credits === '' || isTopUp(credits) ? undefined : TOP_UP_RULE}
          />
          {create.error !== null && <ErrorAlert error={create.error} title="The account was not created" />}
          {credit.error !== null && (
            <ErrorAlert
              error={credit.error}
              title="The account was created, but its credits may not have been added"
              hint="Try again: they will be added only once."
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={made === undefined ? onClose : () => goTo(`/accounts/${made.id}`)}>
              {made === undefined ? 'Cancel' : 'Open account'}
            </Button>
            <Button type="submit" loading={isPending} disabled={!isGood}>
              {made === undefined ? 'Create' : 'Add credits again'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
