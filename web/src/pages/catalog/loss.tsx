// Flags a model that is sold for less than a target of it costs.
import { Badge, Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import type { ModelObject } from '../../api/models.ts'
import { exactAmount } from '../../format/amounts.ts'
import { unit } from '../../format/currency.ts'
import { chartHeight, shiftDecimal } from '../../format/decimals.ts'

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

const RATES = ['prompt', 'completion'] as const

// Amounts are only compared, so floats are exact enough.
export function lossesOf({ pricing, targets }: Pick<ModelObject, 'pricing' | 'targets'>): readonly string[] {
  return targets.flatMap(({ provider, model, cost }) =>
    RATES.flatMap(rate => {
      const [paid, charged] = [pricing[rate], cost?.[rate]]
      if (charged === undefined || chartHeight(charged) <= chartHeight(paid)) return []
      const [costs, pays] = [charged, paid].map(price => exactAmount(shiftDecimal(price, 6) ?? price, 0))
      return [`${provider} ${model}: ${rate} costs ${costs}, clients pay ${pays} ${unit()} per million.`]
    }),
  )
}
