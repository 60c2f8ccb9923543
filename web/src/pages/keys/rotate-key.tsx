// The dialog that issues a new secret; the old one keeps working for its grace period.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type KeyObject, useRotateKey } from '../../api/keys.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { NewSecret } from './new-secret.tsx'

export type RotateKeyProps = { readonly of: KeyObject; readonly isOpen: boolean; readonly onClose: () => void }

export function RotateKey({ of: key, isOpen, onClose }: RotateKeyProps): ReactNode {
  const rotate = useRotateKey(key.id)
  const isDone = rotate.data !== undefined
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title={isDone ? 'Your new secret' : 'Rotate key'}
      closeOnClickOutside={!isDone}
      closeOnEscape={!isDone}
    >
      {rotate.data !== undefined ? (
        <NewSecret of={rotate.data} onDone={onClose} />
      ) : (
        <Stack gap="sm">
          <Text size="sm">
            Creates a new secret and shows it once. The current secret, <span className="mono">{key.label}</span>, keeps
            working for 60 minutes so that clients can switch over without interruption. You can end it sooner.
          </Text>
          {rotate.error !== null && <ErrorAlert error={rotate.error} title="The key was not rotated" />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              loading={rotate.isPending}
              onClick={() => !rotate.isPending && rotate.mutate(undefined)}
              data-autofocus
            >
              Create new secret
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}
