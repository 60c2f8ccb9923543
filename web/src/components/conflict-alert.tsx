// Explains why a change was rejected; after an edit conflict it offers to reload.
import { Alert, Button, Group, Text } from '@mantine/core'
import { IconUsers } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/call.ts'
import { ErrorAlert } from './error-alert.tsx'

export type ConflictAlertProps = { readonly error: unknown; readonly noun: string; readonly onReload: () => void }

export function ConflictAlert({ error, noun, onReload }: ConflictAlertProps): ReactNode {
  const isStale = error instanceof ApiError && error.reason === 'version_changed'
  if (!isStale) return <ErrorAlert error={error} title="The change was not saved" />
  return (
    <Alert
      color="orange"
      icon={<IconUsers size={18} />}
      role="alert"
      title={`This ${noun} was changed by somebody else`}
    >
      <Text size="sm">Your change was not saved. Reload the current values and make your change again.</Text>
      <Group mt="xs">
        <Button size="compact-sm" variant="default" onClick={onReload}>
          Reload
        </Button>
      </Group>
    </Alert>
  )
}
