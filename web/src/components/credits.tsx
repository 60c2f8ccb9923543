// An amount of credits, rounded for reading. Hovering, focusing and copying give all digits: see exact-amounts.ts.
import type { ReactNode } from 'react'
import { amount, columnAmount } from '../format/amounts.ts'
import { groupDecimal, isZero } from '../format/decimals.ts'

export type CreditsProps = {
  readonly value: string
  // The decimals of its column in a table (columnPlaces), where zero is a dash.
  readonly places?: number
  // Instead of a dash, where zero is worth noticing.
  readonly zero?: string
  // All digits, for prices and for bills.
  readonly isExact?: boolean
}

export function Credits({ value, places, zero, isExact = false }: CreditsProps): ReactNode {
  const exact = groupDecimal(value, 0)
  const shown = isExact ? groupDecimal(value) : places === undefined ? amount(value) : columnAmount(value, places)
  const isRounded = !isZero(value) && (shown.includes('.') ? shown.replace(/\.?0+$/, '') : shown) !== exact
  return (
    <data
      value={value}
      className={`number amount ${shown === '–' && zero === undefined ? 'dash' : ''}`}
      {...(isRounded
        ? // In a table the page of the row can be focused, instead of every figure.
          { 'data-exact': exact, tabIndex: places === undefined ? 0 : -1 }
        : {})}
    >
      {zero !== undefined && isZero(value) ? zero : shown}
    </data>
  )
}
