// Validates input against its schema and names the wrong parameter. Each schema is compiled on first use: there are dozens, and a
// start should not wait for all of them.
import type { Static, TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { fieldBelow, fieldPath } from '../../domain/field-path.ts'
import { Refusal } from '../../domain/refusal.ts'
import { PATTERN_WORDS } from './shapes.ts'

export function checkBody<T extends TObject>(schema: T | undefined): (body: unknown) => Static<T> {
  return checker(schema, body => body ?? {})
}

// A query is text: numbers are parsed where the schema has one, and an empty value counts as absent. Control characters are
// refused: nothing stored contains one, and engines treat them differently.
export function checkQuery<T extends TObject>(schema: T | undefined): (query: unknown) => Static<T> {
  const properties: Readonly<Record<string, { readonly type?: unknown }>> = schema?.properties ?? {}
  return checker(schema, query => {
    const given = Object.entries(query as Record<string, unknown>).filter(([, value]) => value !== '')
    const unprintable = given.find(([, value]) => /\p{Cc}/u.test(String(value)))
    if (unprintable !== undefined) {
      const [param] = unprintable
      throw new Refusal('invalid_value', { param, message: `${param} must have no control characters.` })
    }
    return Object.fromEntries(
      given.map(([name, value]) => {
        const isNumber = properties[name]?.type === 'integer' && typeof value === 'string' && /^\d{1,9}$/.test(value)
        return [name, isNumber ? Number(value) : value]
      }),
    )
  })
}

// Without a schema no input is accepted, and a body is ignored.
function checker<T extends TObject>(schema: T | undefined, prepare: (value: unknown) => unknown) {
  if (schema === undefined) return () => ({}) as Static<T>
  let compiled: ReturnType<typeof Compile> | undefined
  return (input: unknown): Static<T> => {
    const value = prepare(input)
    compiled ??= Compile(schema)
    if (compiled.Check(value)) return value as Static<T>
    throw complaint(compiled.Errors(value))
  }
}

type Complaint = ReturnType<ReturnType<typeof Compile>['Errors']>[number]

function complaint(errors: readonly Complaint[]): Refusal {
  const first = errors[0]
  if (first === undefined) return new Refusal('invalid_value')
  const path = fieldPath(first.instancePath)
  if (first.keyword === 'required') {
    const param = fieldBelow(path, first.params.requiredProperties[0] ?? '')
    return new Refusal('missing_field', { param, message: `${param} is required.` })
  }
  if (first.keyword === 'enum') {
    const message = `${path} must be one of ${first.params.allowedValues.join(', ')}.`
    return new Refusal('invalid_value', { param: path, message })
  }
  if (first.keyword === 'pattern') {
    const { pattern } = first.params as { readonly pattern: string | RegExp }
    const words = PATTERN_WORDS[typeof pattern === 'string' ? pattern : pattern.source]
    const message = words === undefined ? `${path} must be an id as this list gives it.` : `${path}: expected ${words}.`
    return new Refusal('invalid_value', { param: path, message })
  }
  const unknown = first.keyword === 'boolean' && first.schemaPath.endsWith('/additionalProperties')
  const message = unknown ? `${path} is not a field here.` : `${path === '' ? 'The body' : path} ${first.message}.`
  return new Refusal('invalid_value', path === '' ? { message } : { param: path, message })
}
