// Catches what breaks while a page is drawn, so that the rest of the dashboard stays and says what to do.
import { Alert, Button, Group, Text } from '@mantine/core'
import { Component, type ReactNode } from 'react'

type State = { readonly error: Error | undefined }

// React knows error boundaries as classes alone.
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: Error): State {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    // The files of a page are gone when the server was upgraded while the old page was open.
    const isOldPage = /dynamically imported module|module script failed|preload/i.test(error.message)
    return (
      <Alert color="red" title={isOldPage ? 'The dashboard was updated' : 'This page could not be drawn'} role="alert">
        <Text size="sm" mb="sm">
          {isOldPage ? 'Load it again to get the new version.' : error.message}
        </Text>
        <Group>
          <Button size="xs" onClick={() => location.reload()}>
            Load again
          </Button>
        </Group>
      </Alert>
    )
  }
}
