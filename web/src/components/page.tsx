// The frame of a page: title, description, actions and content.
import { Box, Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { isolated, withoutControls } from '../format/isolated.ts'

export type PageProps = {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly above?: ReactNode
  readonly children: ReactNode
}

let product = 'Turnpike'

// Shown in the titles of pages; the portal has the name of its operator.
export function setProductName(name: string): void {
  product = name
}

export function Page({ title, about, actions, above, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${isolated(title)} · ${product}`
  }, [title])
  return (
    <Stack gap="md" maw={1400} mx="auto">
      {above}
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box maw={760}>
          <Title order={1} className="name">
            {withoutControls(title)}
          </Title>
          {about !== undefined && (
            <Text size="sm" c="dimmed" component="div">
              {about}
            </Text>
          )}
        </Box>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
