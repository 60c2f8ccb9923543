// The contact of an account in a form: an e-mail address, and its id in the operator's own system.
import { SimpleGrid, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import type { AccountObject } from '../../api/accounts.ts'

export type Contact = { readonly contact_email: string; readonly external_id: string }

export const NO_CONTACT: Contact = { contact_email: '', external_id: '' }

export function contactOf(account: AccountObject): Contact {
  return { contact_email: account.contact_email ?? '', external_id: account.external_id ?? '' }
}

// An emptied field is removed.
export function changedContact(contact: Contact, account: AccountObject) {
  const before = contactOf(account)
  const changed = (['contact_email', 'external_id'] as const).filter(name => contact[name].trim() !== before[name])
  return Object.fromEntries(changed.map(name => [name, contact[name].trim() || null]))
}

type Props = { readonly value: Contact; readonly onChange: (contact: Contact) => void }

export function ContactFields({ value, onChange }: Props): ReactNode {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      <TextInput
        label="Contact e-mail"
        type="email"
        maxLength={254}
        value={value.contact_email}
        onChange={({ currentTarget }) => onChange({ ...value, contact_email: currentTarget.value })}
      />
      <TextInput
        label="External ID"
        description="Its ID in your own system"
        maxLength={200}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={value.external_id}
        onChange={({ currentTarget }) => onChange({ ...value, external_id: currentTarget.value })}
      />
    </SimpleGrid>
  )
}
