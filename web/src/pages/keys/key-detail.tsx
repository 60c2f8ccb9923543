// One key: limits, details, old secrets in their grace period, and recent spend.
import { Anchor, Button, Group, SimpleGrid } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconPencil, IconRefresh, IconTrash } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { type KeyObject, useKey } from '../../api/keys.ts'
import { useMayChange } from '../../api/session-context.ts'
import { AccountName } from '../../components/account-name.tsx'
import { BudgetBars } from '../../components/budget-bars.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink, PendingPage } from '../../components/detail-page.tsx'
import { detailsOf, limitsOf } from '../../components/keys/key-facts.tsx'
import { RevokeKey } from '../../components/keys/revoke-key.tsx'
import { SecretsInGrace } from '../../components/keys/secrets-in-grace.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { useParams } from '../../components/search-params.ts'
import { StateBadge } from '../../components/state-badge.tsx'
import { unit } from '../../format/currency.ts'
import { SpendByDay } from '../usage/spend-by-day.tsx'
import { EditKey } from './edit-key.tsx'
import { RotateKey } from './rotate-key.tsx'

export default function KeyDetail({ id }: { readonly id: string }): ReactNode {
  const { data: key, error, refetch } = useKey(id)
  const back = <BackLink href="/keys">All keys</BackLink>
  if (key === undefined) {
    return <PendingPage title="Key" above={back} error={error} onRetry={() => void refetch()} />
  }
  return (
    <Page
      title={key.name}
      above={back}
      about={
        <Group gap="xs" mt={4}>
          <span className="mono">{key.label}</span>
          <StateBadge state={key.state} />
        </Group>
      }
      actions={<Actions of={key} />}
    >
      {key.previous.length > 0 && <SecretsInGrace of={key} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <Panel title="Limits">
          <DescriptionList of={limitsOf(key)} />
        </Panel>
        <Panel title="Details">
          <DescriptionList of={[['Account', <AccountName key="account" id={key.account_id} />], ...detailsOf(key)]} />
        </Panel>
        <Panel title="Spending" about={`In ${unit()}`}>
          <BudgetBars of={key} />
        </Panel>
        <Panel
          title="Last 30 days"
          actions={
            <Anchor component={Link} href={`/usage?key_id=${key.id}`} size="sm">
              View requests
            </Anchor>
          }
        >
          <SpendByDay filter={{ key_id: key.id }} />
        </Panel>
      </SimpleGrid>
    </Page>
  )
}

function Actions({ of: key }: { readonly of: KeyObject }): ReactNode {
  const mayChange = useMayChange()
  const [params, setParams] = useParams()
  const [isEditing, editing] = useDisclosure(params.get('open') === 'edit', { onClose: () => setParams({ open: '' }) })
  const [isRevoking, revoking] = useDisclosure(false)
  const [rotation, setRotation] = useState(0)
  const [isRotating, rotating] = useDisclosure(false)
  if (!mayChange || key.status === 'revoked') return null
  return (
    <>
      <Button variant="default" leftSection={<IconPencil size={16} />} onClick={editing.open}>
        Edit
      </Button>
      {key.status === 'active' && (
        <Button
          variant="default"
          leftSection={<IconRefresh size={16} />}
          onClick={() => {
            setRotation(rotation + 1)
            rotating.open()
          }}
        >
          Rotate
        </Button>
      )}
      <Button color="red.9" variant="filled" leftSection={<IconTrash size={16} />} onClick={revoking.open}>
        Revoke
      </Button>
      {isEditing && <EditKey of={key} onClose={editing.close} />}
      <RotateKey key={rotation} of={key} isOpen={isRotating} onClose={rotating.close} />
      {isRevoking && <RevokeKey of={key} onClose={revoking.close} />}
    </>
  )
}
