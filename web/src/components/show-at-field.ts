// Shows an error of the server at the field of a form that it names.
import type { UseFormReturnType } from '@mantine/form'
import { ApiError } from '../api/call.ts'

// Returns false if there is no such field.
export function showAtField<T extends Record<string, unknown>>(form: UseFormReturnType<T>, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.param === null) return false
  const field = error.param.split('.', 1)[0] ?? ''
  if (!(field in form.values)) return false
  form.setFieldError(field, withoutField(error.message, error.param))
  return true
}

// "base_url: expected a URL." under the field that it names is "Expected a URL."
function withoutField(message: string, param: string): string {
  const text = message.startsWith(`${param}: `) ? message.slice(param.length + 2) : message
  return text.charAt(0).toUpperCase() + text.slice(1)
}
