// The names of a chart's figures with their colours.
import { Box, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Figure } from './chart.tsx'

export function Legend({ of }: { readonly of: readonly Figure[] }): ReactNode {
  return of.map(({ name, label, color }) => (
    <Text key={name} span size="xs" mr={12} style={{ whiteSpace: 'nowrap' }}>
      <Box component="span" display="inline-block" w={8} h={8} bdrs={8} mr={5} bg={color} aria-hidden />
      {label}
    </Text>
  ))
}
