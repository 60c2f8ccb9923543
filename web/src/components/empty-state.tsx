// The empty state of a list, with the next step to take.
import { Center, Stack, Text, ThemeIcon } from '@mantine/core'
import type { Icon } from '@tabler/icons-react'
import type { ReactNode } from 'react'

export type EmptyStateProps = {
  readonly icon: Icon
  readonly title: string
  readonly action?: ReactNode
  readonly children?: ReactNode
}

export function EmptyState({ icon: Icon, title, action, children }: EmptyStateProps): ReactNode {
  return (
    <Center py="xl" px="md">
      <Stack align="center" gap={6} maw={460}>
        <ThemeIcon variant="light" size={44} radius="xl" color="gray" aria-hidden>
          <Icon size={22} stroke={1.5} />
        </ThemeIcon>
        <Text fw={600} ta="center">
          {title}
        </Text>
        <Text size="sm" c="dimmed" ta="center" component="div">
          {children}
        </Text>
        {action}
      </Stack>
    </Center>
  )
}
