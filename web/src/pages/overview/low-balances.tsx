// Accounts that are, or will soon be, out of credits.
import { Alert, Anchor, Group, Stack, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Overview } from '../../api/overview.ts'
import { Credits } from '../../components/credits.tsx'
import { isZero } from '../../format/decimals.ts'

const SHOWN_MAX = 5

export function LowBalances({ of: accounts }: { readonly of: Overview['low_balances'] }): ReactNode {
  if (accounts.length === 0) return null
  return (
    <Alert color="orange" icon={<IconAlertTriangle size={18} />} py="sm" title="Low balances">
      <Stack gap={2}>
        {accounts.slice(0, SHOWN_MAX).map(({ id, name, available, owed }) => (
          <Group key={id} gap="xs">
            <Anchor component={Link} href={`/accounts/${id}`} size="sm" className="one-line" maw={260} title={name}>
              {name}
            </Anchor>
            <Text size="sm">
              {isZero(owed) ? (
                <>
                  has <Credits value={available} /> credits left
                </>
              ) : (
                <>
                  is overdrawn by <Credits value={owed} /> credits; requests are blocked
                </>
              )}
            </Text>
          </Group>
        ))}
        {accounts.length > SHOWN_MAX && (
          <Anchor component={Link} href="/accounts" size="sm">
            and {accounts.length - SHOWN_MAX} more
          </Anchor>
        )}
      </Stack>
    </Alert>
  )
}
