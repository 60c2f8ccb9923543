// A change that was refused; if somebody else was quicker, said kindly and with a way on.
import { Alert, Button, Group, Text } from '@mantine/core'
import { IconUsers } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/call.ts'
import { ErrorAlert } from './error-alert.tsx'

export type ConflictAlertProps = { readonly error: unknown; readonly noun: string; readonly onReload: () => void }

export function ConflictAlert({ error, noun, onReload }: ConflictAlertProps): ReactNode {
  const isStale = error instanceof ApiError && error.reason === 'version_changed'
  if (!isStale) return <ErrorAlert error={error} title="Nothing was changed" />
  return (
    <Alert
      color="orange"
      icon={<IconUsers size={18} />}
      role="alert"
      title={`Somebody else changed this ${noun} meanwhile`}
    >
      <Text size="sm">
        Nothing of yours was saved, so nothing of theirs was lost. Read it again and make your change on top.
      </Text>
      <Group mt="xs">
        <Button size="compact-sm" variant="default" onClick={onReload}>
          Read it again
        </Button>
      </Group>
    </Alert>
  )
}
