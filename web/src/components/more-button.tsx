// Loads the next page of a list.
import { Button, Center } from '@mantine/core'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'

export function MoreButton({ of }: { readonly of: UseInfiniteQueryResult }): ReactNode {
  if (!of.hasNextPage) return null
  return (
    <Center p="sm">
      <Button
        variant="default"
        size="xs"
        loading={of.isFetchingNextPage}
        onClick={() => {
          void of.fetchNextPage()
        }}
      >
        Load more
      </Button>
    </Center>
  )
}
