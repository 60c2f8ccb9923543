// Shows an error message instead of a page that fails to render, and keeps the rest of the dashboard working.
import { Alert, Button, Group, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'

type State = { readonly error: Error | undefined }

// React supports error boundaries only as classes.
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    // After an upgrade of the server, the files of the old version no longer exist.
    const isOldPage = /dynamically imported module|module script failed|preload/i.test(error.message)
    return (
      <Alert
        color="red"
        title={isOldPage ? 'The dashboard was updated' : 'This page could not be displayed'}
        role="alert"
      >
        <Text size="sm" mb="sm">
          {isOldPage ? 'Reload to get the new version.' : error.message}
        </Text>
        <Group>
          <Button size="xs" onClick={() => location.reload()}>
            Reload
          </Button>
        </Group>
      </Alert>
    )
  }
}
