// A price per million tokens, exact.
import type { ReactNode } from 'react'
import { Credits } from '../../components/credits.tsx'
import { shiftDecimal } from '../../format/decimals.ts'

export function PerMillion({ price }: { readonly price: string }): ReactNode {
  return <Credits value={shiftDecimal(price, 6) ?? price} isExact />
}
