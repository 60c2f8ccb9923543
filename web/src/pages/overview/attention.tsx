// What needs the operator's attention, each line with a link to where it is fixed. Without any it says so.
import { Alert, Anchor, Group, List, Text, ThemeIcon } from '@mantine/core'
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useKeyName } from '../../api/keys.ts'
import type { Attention as Item } from '../../api/overview.ts'
import { AccountName } from '../../components/account-name.tsx'
import { withAmountsShown } from '../../format/amounts.ts'
import { withoutControls } from '../../format/isolated.ts'

const SHOWN_MAX = 6

export function Attention({ of: items, usage }: { readonly of: readonly Item[]; readonly usage: string }): ReactNode {
  const [isAll, setAll] = useState(false)
  if (items.length === 0) {
    return (
      <Group gap={6} role="status">
        <ThemeIcon variant="transparent" color="green" size="sm">
          <IconCircleCheck size={18} />
        </ThemeIcon>
        <Text size="sm">All systems healthy</Text>
      </Group>
    )
  }
  const isError = items.some(({ severity }) => severity === 'error')
  return (
    <Alert
      color={isError ? 'red' : 'orange'}
      icon={<IconAlertTriangle size={18} />}
      py="sm"
      title={items.length === 1 ? 'Needs attention' : `${items.length} things need attention`}
    >
      <List size="sm" spacing={2} listStyleType="none">
        {items.slice(0, isAll ? items.length : SHOWN_MAX).map(item => (
          <List.Item key={`${item.kind} ${item.id} ${item.message}`}>
            <Anchor component={Link} href={linkOf(item, usage)} size="sm" className="name">
              {item.name}
            </Anchor>{' '}
            {item.kind === 'key_limit' && <KeyAccount id={item.id ?? ''} />}
            <bdi>{withAmountsShown(withoutControls(item.message))}</bdi>
          </List.Item>
        ))}
      </List>
      {items.length > SHOWN_MAX && (
        <Anchor component="button" type="button" size="sm" mt={4} onClick={() => setAll(!isAll)}>
          {isAll ? 'Show fewer' : `Show ${items.length - SHOWN_MAX} more`}
        </Anchor>
      )}
    </Alert>
  )
}

// Customers give their keys the same names.
function KeyAccount({ id }: { readonly id: string }): ReactNode {
  const key = useKeyName(id)
  if (key === undefined) return null
  return (
    <>
      of <AccountName id={key.account_id} />{' '}
    </>
  )
}

// A record, so that a new kind is a type error until it has a link.
const LINKS: Readonly<Record<Item['kind'], (id: string, usage: string) => string>> = {
  provider_down: () => '/providers',
  target_down: () => '/providers',
  credential_rejected: () => '/providers',
  error_spike: (_, usage) => `${usage}&cause=provider`,
  key_limit: id => `/keys/${id}`,
  account_limit: id => `/accounts/${id}`,
  low_balance: id => `/accounts/${id}`,
  webhook_disabled: id => `/webhooks/${id}`,
  webhook_failing: id => `/webhooks/${id}`,
}

function linkOf({ kind, id }: Item, usage: string): string {
  return LINKS[kind](id ?? '', usage)
}
