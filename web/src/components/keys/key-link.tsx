// The name of a key as a link to its page, for lists.
import { Anchor } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { withoutControls } from '../../format/isolated.ts'

type Named = { readonly id: string; readonly name: string }

export function KeyLink({ of: { id, name }, maw = 280 }: { readonly of: Named; readonly maw?: number }): ReactNode {
  return (
    <Anchor component={Link} href={`/keys/${id}`} size="sm" fw={500} className="one-line" maw={maw} title={name}>
      {withoutControls(name)}
    </Anchor>
  )
}
