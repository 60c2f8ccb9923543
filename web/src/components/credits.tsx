// An amount of credits, rounded for reading, in the unit that is shown. Hovering, focusing and copying give all digits: see
// exact-amounts.ts.
import type { ReactNode } from 'react'
import { amount, columnAmount, exactAmount } from '../format/amounts.ts'
import { unit } from '../format/currency.ts'
import { isZero } from '../format/decimals.ts'

export type CreditsProps = {
  readonly value: string
  // The decimals of its column in a table (columnPlaces), where zero is a dash.
  readonly places?: number
  // Instead of a dash, where zero is worth noticing.
  readonly hasZero?: boolean
  // All digits, for prices and for bills.
  readonly isExact?: boolean
  // With the word, unless a sign says it.
  readonly hasUnit?: boolean
}

export function Credits({ value, places, hasZero, isExact, hasUnit }: CreditsProps): ReactNode {
  const exact = exactAmount(value, 0)
  const isZeroShown = hasZero === true && isZero(value)
  const shown =
    isExact || isZeroShown ? exactAmount(value) : places === undefined ? amount(value) : columnAmount(value, places)
  const isRounded = !isZero(value) && (shown.includes('.') ? shown.replace(/\.?0+$/, '') : shown) !== exact
  return (
    <>
      <data
        value={value}
        className={`number amount ${shown === '–' ? 'dash' : ''}`}
        {...(isRounded
          ? // In a table the page of the row can be focused, instead of every figure.
            { 'data-exact': exact, tabIndex: places === undefined ? 0 : -1 }
          : {})}
      >
        {shown}
      </data>
      {hasUnit === true && unit() === 'credits' && ' credits'}
    </>
  )
}
