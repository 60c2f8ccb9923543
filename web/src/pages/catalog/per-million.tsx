// A price per token as people compare them: credits per million tokens, exact.
import type { ReactNode } from 'react'
import { shiftDecimal } from '../../format/decimals.ts'
import { Credits } from '../../parts/credits.tsx'

export function PerMillion({ price, places = 2 }: { readonly price: string; readonly places?: number }): ReactNode {
  return <Credits value={shiftDecimal(price, 6) ?? price} places={places} />
}
