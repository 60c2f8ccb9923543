// A titled box on a page.
import { Box, Group, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'

export type PanelProps = {
  readonly title?: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  // A single icon, which stays next to the title where there is little room.
  readonly hasIcon?: boolean
  readonly flush?: boolean
  readonly children: ReactNode
}

export function Panel({ title, about, actions, hasIcon = false, flush = false, children }: PanelProps): ReactNode {
  return (
    <Box component="section" className="panel" miw={0} {...(title === undefined ? {} : { 'aria-label': title })}>
      {title !== undefined && (
        <Group
          justify="space-between"
          px="md"
          pt="sm"
          pb={flush ? 'xs' : 0}
          gap="xs"
          wrap={hasIcon ? 'nowrap' : 'wrap'}
        >
          <Box miw={0}>
            <Title order={2}>{title}</Title>
            {about !== undefined && (
              <Text size="xs" c="dimmed" component="div">
                {about}
              </Text>
            )}
          </Box>
          <Box maw="100%">{actions}</Box>
        </Group>
      )}
      <Box p={flush ? 0 : 'md'} pt={flush ? 0 : title === undefined ? 'md' : 'xs'}>
        {children}
      </Box>
    </Box>
  )
}
