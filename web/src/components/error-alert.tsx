// What went wrong, in the server's own words, with the request id by which its log can be searched.
import { Alert, Button, Code, Group, Text } from '@mantine/core'
import { IconAlertCircle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { ApiError } from '../api/call.ts'

export type ErrorAlertProps = {
  readonly error: unknown
  readonly title?: string
  readonly doing?: string
  readonly onRetry?: () => void
}

export function ErrorAlert({ error, title = 'That did not work', doing, onRetry }: ErrorAlertProps): ReactNode {
  const isApi = error instanceof ApiError
  return (
    <Alert color="red" title={title} icon={<IconAlertCircle size={18} />} role="alert" py="sm">
      <Text size="sm" className="break">
        {messageOf(error)} {doing}
      </Text>
      {isApi && error.requestId !== null && (
        <Text size="xs" c="dimmed" mt={4} className="break">
          {error.code} · request <Code fz="xs">{error.requestId}</Code>
        </Text>
      )}
      {onRetry !== undefined && (
        <Group mt="xs">
          <Button size="compact-sm" variant="default" onClick={onRetry}>
            Try again
          </Button>
        </Group>
      )}
    </Alert>
  )
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
