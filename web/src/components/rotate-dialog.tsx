// The dialog that issues a new secret: first what happens to the old one, then the new one, shown once.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { ErrorAlert } from './error-alert.tsx'

type Rotation<Made> = {
  readonly data: Made | undefined
  readonly error: Error | null
  readonly isPending: boolean
  readonly mutate: (input: undefined) => void
}

export type RotateDialogProps<Made> = {
  readonly title: string
  readonly titleOfNew: string
  readonly errorTitle: string
  readonly rotation: Rotation<Made>
  readonly isOpen?: boolean
  readonly onClose: () => void
  readonly show: (made: Made) => ReactNode
  readonly children: ReactNode
}

export function RotateDialog<Made>(props: RotateDialogProps<Made>): ReactNode {
  const { rotation, isOpen = true, onClose } = props
  const { data: made } = rotation
  // The secret must not be lost by a click outside the dialog.
  const isDone = made !== undefined
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      size="lg"
      title={isDone ? props.titleOfNew : props.title}
      closeOnClickOutside={!isDone}
      closeOnEscape={!isDone}
    >
      {made !== undefined ? (
        props.show(made)
      ) : (
        <Stack gap="sm">
          <Text size="sm">{props.children}</Text>
          {rotation.error !== null && <ErrorAlert error={rotation.error} title={props.errorTitle} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button
              loading={rotation.isPending}
              onClick={() => !rotation.isPending && rotation.mutate(undefined)}
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
