// Converts a schema violation in a chat request to a refusal that names the field.

import { fieldBelow, fieldPath } from '../domain/field-path.ts'
import { Refusal } from '../domain/refusal.ts'
import { PATTERNS } from './request-schema.ts'

type SchemaError = {
  readonly keyword: string
  readonly instancePath: string
  readonly message?: string
  readonly params: object
}

export function wrongField(errors: readonly SchemaError[], prefix: string): Refusal {
  const top = errors[0]
  if (top === undefined) return new Refusal('invalid_value')
  // For a choice between shapes, the summary is more useful than the first mismatch, and an error deeper inside is more useful
  // than the summary.
  const isChoice = errors.some(error => error.keyword === 'anyOf' && error.instancePath === top.instancePath)
  const first = (isChoice && errors.find(error => error.instancePath.startsWith(`${top.instancePath}/`))) || top
  const path = fieldPath(first.instancePath, prefix)
  const absent =
    first.keyword === 'required'
      ? (first.params as { requiredProperties?: readonly string[] }).requiredProperties?.[0]
      : undefined
  if (absent !== undefined) return missing(fieldBelow(path, absent))
  const message = isChoice && first === top ? 'has an invalid type or value' : (wordsFor(first) ?? first.message)
  return new Refusal('invalid_value', { param: path, message: `${path} ${message}.` })
}

function wordsFor({ keyword, params }: SchemaError): string | undefined {
  return keyword === 'pattern' ? PATTERNS.get((params as { pattern?: unknown }).pattern) : undefined
}

export function notKnown(path: string): Refusal {
  const param = fieldPath('', path)
  return new Refusal('invalid_value', { param, message: `${param} is not a known field.` })
}

export function missing(param: string): Refusal {
  return new Refusal('missing_field', { param, message: `${param} is missing.` })
}
