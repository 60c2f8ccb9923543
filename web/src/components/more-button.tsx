// The next page of a list, added below the one that is there.
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
        Show more
      </Button>
    </Center>
  )
}
