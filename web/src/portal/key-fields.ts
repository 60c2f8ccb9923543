// The fields of a new key in the portal's form, and how they become the input of the API: what is empty is left out, so that the
// server chooses the default or the limit of the account.
import type { KeyInput } from '../../../src/admin/keys.ts'
import { type BudgetField, budgetInputsOf } from '../components/budget-fields.tsx'
import { fromInput } from '../format/time.ts'

export type KeyFields = {
  name: string
  rpm_limit: number | string
  daily_limit: number | string
  credit_limit: string
  max_concurrent: number | string
  budgets: BudgetField[]
  allowed_models: string[]
  ip_allowlist: string[]
  expires_at: string
}

export const NEW_KEY: KeyFields = {
  name: '',
  rpm_limit: '',
  daily_limit: '',
  credit_limit: '',
  max_concurrent: '',
  budgets: [],
  allowed_models: [],
  ip_allowlist: [],
  expires_at: '',
}

export function inputOf(fields: KeyFields, zone: string): KeyInput {
  const numbers = (['rpm_limit', 'daily_limit', 'max_concurrent'] as const).flatMap(name =>
    fields[name] === '' ? [] : [[name, Number(fields[name])]],
  )
  const lists = (['allowed_models', 'ip_allowlist'] as const).flatMap(name =>
    fields[name].length === 0 ? [] : [[name, fields[name]]],
  )
  return {
    name: fields.name,
    ...Object.fromEntries(numbers),
    ...Object.fromEntries(lists),
    ...(fields.credit_limit.trim() === '' ? {} : { credit_limit: fields.credit_limit.trim() }),
    ...(fields.budgets.length === 0 ? {} : { budgets: budgetInputsOf(fields.budgets) }),
    ...(fields.expires_at === '' ? {} : { expires_at: fromInput(fields.expires_at, zone) }),
  }
}
