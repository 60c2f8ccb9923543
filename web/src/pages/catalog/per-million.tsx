// A price in credits per million tokens, exact.
import type { ReactNode } from 'react'
import { Credits } from '../../components/credits.tsx'
import { shiftDecimal } from '../../format/decimals.ts'

export function PerMillion({ price, places = 2 }: { readonly price: string; readonly places?: number }): ReactNode {
  return <Credits value={shiftDecimal(price, 6) ?? price} places={places} />
}
