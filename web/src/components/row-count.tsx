// How many rows a list shows, and whether there are more.
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { count } from '../format/numbers.ts'

type Props = {
  readonly rows: number
  readonly noun: string
  readonly hasMore?: boolean
  readonly isSorted?: boolean
}

export function RowCount({ rows, noun, hasMore = false, isSorted = false }: Props): ReactNode {
  if (rows === 0) return null
  return (
    <Text size="xs" c="dimmed" px="md" py={6} role="status">
      {count(rows)} {rows === 1 ? noun : `${noun}s`}
      {hasMore ? (isSorted ? ' loaded' : ' loaded, newest first') : ''}
    </Text>
  )
}
