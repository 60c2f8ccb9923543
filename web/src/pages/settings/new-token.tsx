// Shows an operator's new token once.
import { Alert, Button, Group, Modal, Stack } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { CopyField } from '../../components/copy-field.tsx'

export function NewToken({ token, onClose }: { readonly token: string; readonly onClose: () => void }): ReactNode {
  return (
    <Modal opened onClose={onClose} title="New token" closeOnClickOutside={false} closeOnEscape={false}>
      <Stack gap="sm">
        <Alert color="orange" icon={<IconEye size={18} />} py="xs" title="Shown only once">
          Gives access to this dashboard and the admin API. Only its hash is stored.
        </Alert>
        <CopyField text={token} label="token" />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
