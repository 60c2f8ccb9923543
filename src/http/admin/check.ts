// Validates input against its schema and names the wrong parameter. Each schema is compiled on first use: there are dozens, and a
// start should not wait for all of them.
import type { Static, TObject } from 'typebox'
import { refusalOfFault } from '../../admin/input.ts'
import { PATTERN_WORDS as CATALOG_WORDS } from '../../catalog/schema.ts'
import { Refusal } from '../../domain/refusal.ts'
import { faultFinder } from '../../lib/schema-fault.ts'
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
      throw new Refusal('invalid_value', { param, message: `${param} must not contain control characters.` })
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
  const faultOf = faultFinder(
    schema,
    pattern => PATTERN_WORDS[pattern] ?? CATALOG_WORDS[pattern] ?? 'an id from this list',
  )
  return (input: unknown): Static<T> => {
    const value = prepare(input)
    const fault = faultOf(value)
    if (fault !== undefined) throw refusalOfFault(fault)
    return value as Static<T>
  }
}
