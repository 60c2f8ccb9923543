// An operator's new token, this once.
import { Alert, Button, Group, Modal, Stack } from '@mantine/core'
import { IconEye } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { CopyField } from '../../components/copy-field.tsx'

export function NewToken({ token, onClose }: { readonly token: string; readonly onClose: () => void }): ReactNode {
  return (
    <Modal opened onClose={onClose} title="The new token" closeOnClickOutside={false} closeOnEscape={false}>
      <Stack gap="sm">
        <Alert color="orange" icon={<IconEye size={18} />} py="xs" title="This is shown once">
          It opens this dashboard and the admin API. Only its hash is kept.
        </Alert>
        <CopyField text={token} label="the token" />
        <Group justify="flex-end">
          <Button onClick={onClose}>I have copied it</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
