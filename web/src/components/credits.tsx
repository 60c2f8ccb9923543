// An exact amount of credits in tabular figures.
import type { ReactNode } from 'react'
import { groupDigits, readDecimal } from '../format/decimals.ts'

// Zeros that only pad to `places` are dimmed: they align a column and carry no information.
export function Credits({ value, places = 2 }: { readonly value: string; readonly places?: number }): ReactNode {
  const decimal = readDecimal(value)
  if (decimal === undefined) return <>{value}</>
  const { sign, whole, fraction } = decimal
  const fill = '0'.repeat(Math.max(0, places - fraction.length))
  return (
    <span className="number" style={{ whiteSpace: 'nowrap' }}>
      {sign === '-' ? '−' : ''}
      {groupDigits(whole)}
      {(fraction !== '' || fill !== '') && `${fraction === '' ? '' : `.${fraction}`}`}
      {fill !== '' && (
        <span className={fraction === '' && places <= 2 ? '' : 'faint-zeros'} aria-hidden={fraction !== ''}>
          {fraction === '' ? `.${fill}` : fill}
        </span>
      )}
    </span>
  )
}
