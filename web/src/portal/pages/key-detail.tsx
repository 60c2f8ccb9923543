// One key of the account: limits, spend, old secrets in their grace period, rotation and revocation.
import { Anchor, Button, Group, SimpleGrid } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useRotateKey } from '../../api/keys.ts'
import { BudgetBars } from '../../components/budget-bars.tsx'
import { Identifier } from '../../components/copy-field.tsx'
import { Credits } from '../../components/credits.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink, PendingPage } from '../../components/detail-page.tsx'
import { RevokeKey } from '../../components/keys/revoke-key.tsx'
import { SecretsInGrace } from '../../components/keys/secrets-in-grace.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { RotateDialog } from '../../components/rotate-dialog.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { TagList } from '../../components/tags.tsx'
import { Ago, Timestamp } from '../../components/timestamp.tsx'
import { count } from '../../format/numbers.ts'
import { type PortalKey, usePortalKey } from '../data.ts'
import { NewKeySecret } from '../new-key-secret.tsx'
import { useMay } from '../session.ts'

export default function KeyDetail({ id }: { readonly id: string }): ReactNode {
  const { data: key, error, refetch } = usePortalKey(id)
  const mayUse = useMay('usage')
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
        <Panel
          title="Spending"
          about="In credits"
          actions={
            mayUse && (
              <Anchor component={Link} href={`/usage?key_id=${key.id}`} size="sm">
                View requests
              </Anchor>
            )
          }
        >
          <BudgetBars of={key} />
        </Panel>
        <Panel title="Limits">
          <DescriptionList of={limitsOf(key)} />
        </Panel>
      </SimpleGrid>
      <Panel title="Details">
        <DescriptionList of={detailsOf(key)} />
      </Panel>
    </Page>
  )
}

function Actions({ of: key }: { readonly of: PortalKey }): ReactNode {
  const mayChange = useMay('keys')
  const [isRevoking, revoking] = useDisclosure(false)
  const [isRotating, rotating] = useDisclosure(false)
  const [rotation, setRotation] = useState(0)
  if (!mayChange || key.status === 'revoked') return null
  return (
    <>
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
      <Button color="red.9" leftSection={<IconTrash size={16} />} onClick={revoking.open}>
        Revoke
      </Button>
      <Rotate key={rotation} of={key} isOpen={isRotating} onClose={rotating.close} />
      {isRevoking && <RevokeKey of={key} onClose={revoking.close} />}
    </>
  )
}

type RotateProps = { readonly of: PortalKey; readonly isOpen: boolean; readonly onClose: () => void }

function Rotate({ of: key, isOpen, onClose }: RotateProps): ReactNode {
  return (
    <RotateDialog
      title="Rotate key"
      titleOfNew="Your new secret"
      errorTitle="The key was not rotated"
      rotation={useRotateKey(key.id)}
      isOpen={isOpen}
      onClose={onClose}
      show={made => <NewKeySecret secret={made.secret} models={key.allowed_models} onDone={onClose} />}
    >
      Creates a new secret and shows it once. The current secret, <span className="mono">{key.label}</span>, keeps
      working for 60 minutes so that your programs can switch over without interruption. You can end it sooner.
    </RotateDialog>
  )
}

function limitsOf(key: PortalKey): readonly (readonly [string, ReactNode])[] {
  return [
    ['Requests per minute', count(key.rpm_limit)],
    ['Requests per day (UTC)', key.daily_limit === null ? 'no limit' : count(key.daily_limit)],
    ['Concurrent requests', count(key.max_concurrent)],
    [
      'Credit limit (lifetime)',
      key.credit_limit === null ? 'no limit' : <Credits key="limit" value={key.credit_limit} />,
    ],
    ['Scopes', key.scopes.length === 0 ? 'none' : key.scopes.join(', ')],
    ['Models', key.allowed_models.length === 0 ? 'all models' : key.allowed_models.join(', ')],
    ['IP allowlist', key.ip_allowlist.length === 0 ? 'any address' : key.ip_allowlist.join(', ')],
  ]
}

function detailsOf(key: PortalKey): readonly (readonly [string, ReactNode])[] {
  return [
    ['ID', <Identifier key="id" id={key.id} label="ID" />],
    ['Tags', <TagList key="tags" of={key.tags} />],
    ['Created', <Timestamp key="created" at={key.created_at} />],
    ['Last used', <Ago key="used" at={key.last_used_at} />],
    ['Expires', key.expires_at === null ? 'never' : <Timestamp key="expires" at={key.expires_at} />],
    ...(key.revoked_at === null ? [] : [['Revoked', <Timestamp key="revoked" at={key.revoked_at} />] as const]),
  ]
}
