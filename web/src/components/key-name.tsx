// A key name and masked label with a link to the key, and a select for keys.
import { Anchor, type ComboboxItem, Select, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useKeyDirectory, useKeyName } from '../api/keys.ts'
import { isolated, withoutControls } from '../format/isolated.ts'

type KeyNameProps = {
  readonly id: string
  // Of the secret that was used.
  readonly last4?: string
  // Where there is no room for it, the tooltip has the label.
  readonly hasLabel?: boolean
}

export function KeyName({ id, last4, hasLabel = true }: KeyNameProps): ReactNode {
  const key = useKeyName(id)
  const label = last4 === undefined ? key?.label : key?.label.replace(/….{4}$/u, `…${last4}`)
  return (
    <Anchor
      component={Link}
      href={`/keys/${id}`}
      size="sm"
      className="name-and-label"
      title={`${isolated(key?.name ?? id)} ${label ?? ''}`}
    >
      <bdi className="one-line" style={{ maxWidth: 220 }}>
        {withoutControls(key?.name ?? id)}
      </bdi>
      {hasLabel && (
        <Text span size="xs" c="dimmed" className="mono">
          {label}
        </Text>
      )}
    </Anchor>
  )
}

export type KeySelectProps = { readonly value: string; readonly onChange: (id: string) => void }

export function KeySelect({ value, onChange }: KeySelectProps): ReactNode {
  const keys = useKeyDirectory()
  const [search, setSearch] = useState('')
  const listed = [...(keys?.values() ?? [])].map(({ id, name, label }) => ({
    value: id,
    label: `${isolated(name)} · ${label}`,
  }))
  // A key that is not listed can be chosen by its full ID.
  const pasted = /^key_\w+$/.test(search.trim()) ? search.trim() : ''
  const others = [...new Set([value, pasted])].filter(id => id !== '' && !keys?.has(id))
  return (
    <Select
      aria-label="Key"
      placeholder="Any key"
      searchable
      clearable
      limit={100}
      nothingFoundMessage="No matching key"
      data={[...others.map(id => ({ value: id, label: id })), ...listed]}
      filter={({ options, search: text, limit }) =>
        (options as ComboboxItem[]).filter(option => hasText(option, text)).slice(0, limit)
      }
      searchValue={search}
      onSearchChange={setSearch}
      value={value === '' ? null : value}
      onChange={id => onChange(id ?? '')}
    />
  )
}

function hasText({ value, label }: ComboboxItem, text: string): boolean {
  const wanted = text.trim().toLowerCase()
  return label.toLowerCase().includes(wanted) || value.includes(wanted)
}
