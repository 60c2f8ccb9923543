// What is checked in the fields of a key before they are sent, in the dashboard and in the portal.
import { readDecimal } from '../../format/decimals.ts'
import { budgetError } from '../budget-fields.tsx'

export const KEY_VALIDATION = {
  name: (name: string) => (name.trim() === '' ? 'Enter a name' : name.length > 200 ? 'At most 200 characters' : null),
  credit_limit: (text: string) =>
    text === '' || readDecimal(text)?.sign === '' ? null : 'Enter an amount such as 25 or 0.5',
  budgets: budgetError,
}
