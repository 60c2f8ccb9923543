// Flags a model that is sold for less than a target of it costs.
import { Badge, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ModelObject } from '../../api/models.ts'
import { lossesOf } from './losses.ts'

export function LossBadge({ of: model }: { readonly of: ModelObject }): ReactNode {
  const losses = lossesOf(model)
  if (losses.length === 0) return null
  return (
    <Tooltip multiline w={300} label={losses.join(' ')}>
      <Badge variant="light" color="red" size="sm" tt="none" tabIndex={0}>
        sold at a loss
      </Badge>
    </Tooltip>
  )
}
