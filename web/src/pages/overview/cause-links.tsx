// The number of errors by cause, each with a link to the requests that failed for it.
import { Anchor, Box, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { Sums } from '../../api/overview.ts'
import type { Figure } from '../../components/chart.tsx'
import { count } from '../../format/numbers.ts'
import { errorsOf } from './series.ts'

type CauseLinksProps = { readonly of: Sums; readonly figures: readonly Figure[]; readonly usage: string }

export function CauseLinks({ of, figures, usage }: CauseLinksProps): ReactNode {
  return figures.map(({ name, label, color }) => {
    const words = `${label} ${count(errorsOf(of, name))}`
    return (
      <Text key={name} span size="xs" mr={10} style={{ whiteSpace: 'nowrap' }}>
        <Box component="span" display="inline-block" w={8} h={8} bdrs={8} mr={5} bg={color} aria-hidden />
        {name === 'other' ? (
          words
        ) : (
          <Anchor component={Link} href={`${usage}&cause=${name}`} size="xs">
            {words}
          </Anchor>
        )}
      </Text>
    )
  })
}
