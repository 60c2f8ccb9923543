// Shows an error with the server's message and the request ID, by which the log can be searched.
import { Alert, Button, Code, Group, Text } from '@mantine/core'
import { IconAlertCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/call.ts'
import { withoutControls } from '../format/isolated.ts'

export type ErrorAlertProps = {
  readonly error: unknown
  readonly title?: string
  readonly hint?: string
  readonly onRetry?: () => void
}

export function ErrorAlert({ error, title = 'Something went wrong', hint, onRetry }: ErrorAlertProps): ReactNode {
  const isApi = error instanceof ApiError
  return (
    <Alert color="red" title={title} icon={<IconAlertCircle size={18} />} role="alert" py="sm">
      <Text size="sm" className="break">
        {messageOf(error)} {hint}
      </Text>
      {isApi && error.requestId !== null && (
        <Text size="xs" c="dimmed" mt={4} className="break">
          {error.code} · request ID <Code fz="xs">{error.requestId}</Code>
        </Text>
      )}
      {onRetry !== undefined && (
        <Group mt="xs">
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            Retry
          </Button>
        </Group>
      )}
    </Alert>
  )
}

export function messageOf(error: unknown): string {
  return withoutControls(error instanceof Error ? error.message : String(error))
}
