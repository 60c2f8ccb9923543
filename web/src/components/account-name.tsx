// An account name with a link to the account, and a select for accounts.
import { Anchor, Select } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useAccountDirectory, useAccountName } from '../api/accounts.ts'
import { isolated, withoutControls } from '../format/isolated.ts'

export function AccountName({ id }: { readonly id: string }): ReactNode {
  const name = useAccountName(id)
  return (
    <Anchor component={Link} href={`/accounts/${id}`} size="sm" className="one-line" maw={160} title={name}>
      {withoutControls(name)}
    </Anchor>
  )
}

export type AccountSelectProps = {
  readonly value: string
  readonly onChange: (id: string) => void
  readonly label?: string
  readonly placeholder?: string
  readonly error?: ReactNode
  readonly description?: string
  readonly isRequired?: boolean
}

export function AccountSelect(props: AccountSelectProps): ReactNode {
  const { value, onChange, label, placeholder, error, description, isRequired = false } = props
  const accounts = useAccountDirectory()
  return (
    <Select
      {...(label === undefined ? { 'aria-label': 'Account' } : { label })}
      {...(description === undefined ? {} : { description })}
      withAsterisk={isRequired}
      placeholder={placeholder ?? 'Any account'}
      searchable
      clearable
      limit={100}
      nothingFoundMessage="No matching account"
      data={accounts.map(({ id, name }) => ({ value: id, label: `${isolated(name)} · ${id.slice(-6)}` }))}
      value={value === '' ? null : value}
      onChange={id => onChange(id ?? '')}
      error={error}
    />
  )
}
