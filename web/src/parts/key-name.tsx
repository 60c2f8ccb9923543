// A key by its name and masked label, wherever one is named. The secret is nowhere.
import { Anchor, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useKeyName } from '../api/keys.ts'

export function KeyName({ id, last4 }: { readonly id: string; readonly last4?: string }): ReactNode {
  const key = useKeyName(id)
  const label = last4 === undefined ? key?.label : key?.label.replace(/….{4}$/u, `…${last4}`)
  return (
    <Anchor component={Link} href={`/keys/${id}`} size="sm" className="name-and-label" title={key?.name ?? id}>
      <bdi className="one-line">{key?.name ?? id}</bdi>
      <Text span size="xs" c="dimmed" className="mono">
        {label}
      </Text>
    </Anchor>
  )
}
