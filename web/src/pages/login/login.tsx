// The door: an operator's token is exchanged for a session, and kept nowhere.
import { Alert, Anchor, Button, Center, Code, Group, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { signIn } from '../../api/session.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import icon from '../../icon.svg'

const WHY = {
  first: undefined,
  ended:
    'Your session has ended: it lasts twelve hours, or one hour without use. Sign in again to go on where you were.',
  left: 'You have signed out.',
} as const

export function Login({ because }: { readonly because: keyof typeof WHY }): ReactNode {
  const [token, setToken] = useState('')
  const enter = useMutation({ mutationFn: () => signIn(token.trim()), onError: () => setToken('') })
  const why = WHY[because]
  useEffect(() => {
    document.title = 'Sign in · Turnpike'
  }, [])

  return (
    <Center mih="100vh" p="md" component="main">
      <form
        className="panel"
        style={{ width: '100%', maxWidth: 400, padding: 28 }}
        onSubmit={event => {
          event.preventDefault()
          if (token.trim() !== '' && !enter.isPending) enter.mutate()
        }}
      >
        <Stack gap="md">
          <Group gap="sm">
            <img src={icon} alt="" width={32} height={32} />
            <Title order={1}>Turnpike</Title>
          </Group>
          {why !== undefined && (
            <Alert color={because === 'ended' ? 'orange' : 'gray'} py="xs">
              {why}
            </Alert>
          )}
          <PasswordInput
            label="Operator token"
            description="The admin token printed at the first start, or one of your own."
            autoComplete="current-password"
            autoFocus
            value={token}
            onChange={event => setToken(event.currentTarget.value)}
          />
          {enter.error !== null && <ErrorAlert error={enter.error} title={wordsFor(enter.error)} />}
          <Button type="submit" loading={enter.isPending} disabled={token.trim() === ''}>
            Sign in
          </Button>
          <Text size="xs" c="dimmed">
            Lost it? Start the server with <Code>TURNPIKE_ADMIN_TOKEN</Code> set to a new one.{' '}
            <Anchor href="/docs" inherit>
              API reference
            </Anchor>
          </Text>
        </Stack>
      </form>
    </Center>
  )
}

function wordsFor(error: Error): string {
  return 'status' in error && error.status === 401 ? 'That is not the token of an operator' : 'Could not sign in'
}
