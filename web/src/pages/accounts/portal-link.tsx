// The button that creates a link to the customer portal, copies it and shows it.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useClipboard, useDisclosure } from '@mantine/hooks'
import { IconLink } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { useCreatePortalLink } from '../../api/portal.ts'
import { CopyField } from '../../components/copy-field.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Timestamp } from '../../components/timestamp.tsx'

export function PortalLink({ accountId }: { readonly accountId: string }): ReactNode {
  const create = useCreatePortalLink(accountId)
  const clipboard = useClipboard({ timeout: 60_000 })
  const [isOpen, dialog] = useDisclosure(false)
  const make = () => {
    dialog.open()
    create.mutate(undefined, { onSuccess: ({ url }) => clipboard.copy(url) })
  }
  return (
    <>
      <Button size="xs" variant="default" leftSection={<IconLink size={15} />} onClick={make}>
        Portal link
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title="Portal link" size="lg">
        <Stack gap="sm">
          {create.error !== null && <ErrorAlert error={create.error} title="The link was not created" />}
          {create.data !== undefined && (
            <>
              <Text size="sm">
                Opens the portal of this account once, until <Timestamp at={create.data.expires_at} />.
                {clipboard.copied && ' Copied to the clipboard.'} The person who opens it acts as the customer.
              </Text>
              <CopyField text={create.data.url} label="portal link" />
            </>
          )}
          <Group justify="flex-end">
            <Button onClick={dialog.close} loading={create.isPending}>
              Done
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
