// One key of the account: limits, spend, old secrets in their grace period, rotation and revocation.
import { Anchor, Button, Group, SimpleGrid } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconRefresh, IconTrash } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { useRotateKey } from '../../api/keys.ts'
import { BudgetBars } from '../../components/budget-bars.tsx'
import { DescriptionList } from '../../components/description-list.tsx'
import { BackLink, PendingPage } from '../../components/detail-page.tsx'
import { detailsOf, limitsOf } from '../../components/keys/key-facts.tsx'
import { RevokeKey } from '../../components/keys/revoke-key.tsx'
import { SecretsInGrace } from '../../components/keys/secrets-in-grace.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { RotateDialog } from '../../components/rotate-dialog.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
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
