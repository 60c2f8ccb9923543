// Says for which rates a model is sold for less than a target of it costs.
import { exactAmount } from '../../format/amounts.ts'
import { unit } from '../../format/currency.ts'
import { chartHeight, shiftDecimal } from '../../format/decimals.ts'

const RATES = ['prompt', 'completion'] as const

type Prices = Readonly<Record<(typeof RATES)[number], string>>
type Target = { readonly provider: string; readonly model: string; readonly cost: Prices | null }
type Priced = { readonly pricing: Prices; readonly targets: readonly Target[] }

// Amounts are only compared, so floats are exact enough.
export function lossesOf({ pricing, targets }: Priced): readonly string[] {
  return targets.flatMap(({ provider, model, cost }) =>
    RATES.flatMap(rate => {
      const [paid, charged] = [pricing[rate], cost?.[rate]]
      if (charged === undefined || chartHeight(charged) <= chartHeight(paid)) return []
      const [costs, pays] = [charged, paid].map(price => exactAmount(shiftDecimal(price, 6) ?? price, 0))
      return [
        `${provider} ${model}: ${rate} costs ${costs}, clients pay ${pays}${unit() === 'credits' ? ' credits' : ''} per million tokens.`,
      ]
    }),
  )
}
