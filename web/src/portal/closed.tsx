// The page without a session: what happened, and the way back to the site that opened the portal.
import { Anchor, Box, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { Logo } from './logo.tsx'

type ClosedProps = { readonly because: 'ended' | 'suspended' | 'signed_out'; readonly returnUrl: string | null }

const AGAIN = 'Go back to the site that you came from and open the portal from there.'
const WORDS = {
  ended: { title: 'Your session has ended', text: `You were signed out to protect your account. ${AGAIN}` },
  signed_out: { title: 'You are signed out', text: AGAIN },
  suspended: {
    title: 'This account is suspended',
    text: 'The portal is not available for suspended accounts. Contact the operator of this service.',
  },
} as const

export function Closed({ because, returnUrl }: ClosedProps): ReactNode {
  const { title, text } = WORDS[because]
  return (
    <Box component="main" maw={560} mx="auto" px="md" pt="12vh">
      <Stack gap="md">
        <Group>
          <Logo />
        </Group>
        <Title order={1}>{title}</Title>
        <Text>{text}</Text>
        {returnUrl !== null && (
          <Anchor href={returnUrl} td="underline">
            Go back
          </Anchor>
        )}
      </Stack>
    </Box>
  )
}
