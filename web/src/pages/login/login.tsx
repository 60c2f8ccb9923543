// The sign-in page: exchanges an operator's token for a session cookie; the token is not stored.
import { Alert, Anchor, Button, Center, Code, Group, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { ApiError } from '../../api/call.ts'
import { signIn } from '../../api/session.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import icon from '../../icon.svg'

const REASONS = {
  first: undefined,
  ended:
    'Your session has expired. Sessions last 12 hours, or 1 hour without activity. Sign in to continue where you left off.',
  signed_out: 'You have signed out.',
} as const

export function Login({ because }: { readonly because: keyof typeof REASONS }): ReactNode {
  const [token, setToken] = useState('')
  const enter = useMutation({ mutationFn: () => signIn(token.trim()), onError: () => setToken('') })
  const reason = REASONS[because]
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
          {reason !== undefined && (
            <Alert color={because === 'ended' ? 'orange' : 'gray'} py="xs">
              {reason}
            </Alert>
          )}
          <PasswordInput
            label="Operator token"
            description="The admin token from the first start, or your personal operator token."
            autoComplete="current-password"
            autoFocus
            value={token}
            onChange={event => setToken(event.currentTarget.value)}
          />
          {enter.error !== null &&
            (isInvalid(enter.error) ? (
              <Alert color="red" py="xs" role="alert">
                This token is not valid. Check that it is complete.
              </Alert>
            ) : (
              <ErrorAlert error={enter.error} title="Sign-in failed" />
            ))}
          <Button type="submit" loading={enter.isPending} disabled={token.trim() === ''}>
            Sign in
          </Button>
          <Text size="xs" c="dimmed">
            Lost your token? Restart the server with <Code>TURNPIKE_ADMIN_TOKEN</Code> set to a new one.{' '}
            <Anchor href="/docs" inherit>
              API reference
            </Anchor>
          </Text>
        </Stack>
      </form>
    </Center>
  )
}

function isInvalid(error: Error): boolean {
  return error instanceof ApiError && error.status === 401
}
