// The fields of a new key in the portal's form, and how they become the input of the API: what is empty is left out, so that the
// server chooses the default or the limit of the account.
import type { UseFormReturnType } from '@mantine/form'
import type { KeyInput } from '../../../src/admin/keys.ts'
import { ApiError } from '../api/call.ts'
import { type BudgetField, budgetError, budgetInputsOf } from '../components/budget-fields.tsx'
import { readDecimal } from '../format/decimals.ts'

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

export const VALIDATE = {
  name: (name: string) => (name.trim() === '' ? 'Enter a name' : name.length > 200 ? 'At most 200 characters' : null),
  credit_limit: (text: string) =>
    text === '' || readDecimal(text)?.sign === '' ? null : 'Enter an amount such as 25 or 0.5',
  budgets: budgetError,
}

export function inputOf(fields: KeyFields): KeyInput {
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
    ...(fields.expires_at === '' ? {} : { expires_at: new Date(fields.expires_at).toISOString() }),
  }
}

// Shows the server's message at the field it concerns; false if there is no such field.
export function showAtField(form: UseFormReturnType<KeyFields>, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.param === null) return false
  const field = error.param.split('.', 1)[0] ?? ''
  if (!(field in form.values)) return false
  form.setFieldError(field, error.message)
  return true
}
