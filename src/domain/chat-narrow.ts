// Where a large value is wrong. A schema's own list of errors takes microseconds for each member, half a second for a body that one request
// may have, so it is asked only about the part that is wrong; compiled checks, which take nanoseconds, find that part. Pure.
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { fieldBelow } from './field-path.ts'

export type Place = { readonly schema: TSchema; readonly value: unknown; readonly path: string }

type Described = {
  readonly type?: string
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: boolean | TSchema
}

// Of a value that its schema does not take; a small one is the place itself.
export function narrow(place: Place): Place {
  const { value } = place
  if (!isLarge(value)) return place
  const schema = shapeFor(place.schema, Array.isArray(value) ? 'array' : 'object')
  if (Array.isArray(value)) return narrowList({ ...place, schema }, value)
  return narrowObject({ ...place, schema }, value as Readonly<Record<string, unknown>>)
}

const LARGE_MEMBERS = 500
const compiled = new WeakMap<TSchema, ReturnType<typeof Compile>>()

// Looks at no more members than it has to, and into depths that were guarded.
function isLarge(value: unknown): boolean {
  return membersOf(value, LARGE_MEMBERS) > LARGE_MEMBERS
}

function membersOf(value: unknown, enough: number): number {
  if (typeof value !== 'object' || value === null) return 1
  const inner = Array.isArray(value) ? value : Object.values(value)
  if (inner.length > enough) return inner.length
  let members = 1
  for (const entry of inner) {
    members += membersOf(entry, enough - members)
    if (members > enough) break
  }
  return members
}

// Of a choice between shapes, the one that such a value can be meant for.
function shapeFor(schema: TSchema, type: 'array' | 'object'): TSchema {
  return (schema as Described).anyOf?.find(shape => (shape as Described).type === type) ?? schema
}

function narrowList(place: Place, list: readonly unknown[]): Place {
  const { items, maxItems = Number.POSITIVE_INFINITY } = place.schema as Described
  if (list.length > maxItems) return { ...place, schema: { type: 'array', maxItems } as TSchema }
  if (items === undefined) return place
  const index = list.findIndex(entry => !takes(items, entry))
  return index < 0 ? place : narrow({ schema: items, value: list[index], path: fieldBelow(place.path, String(index)) })
}

function narrowObject(place: Place, record: Readonly<Record<string, unknown>>): Place {
  const { properties = {}, additionalProperties: others, ...rest } = place.schema as Described
  for (const name of Object.keys(properties)) {
    const schema = properties[name]!
    if (record[name] === undefined || takes(schema, record[name])) continue
    return narrow({ schema, value: record[name], path: fieldBelow(place.path, name) })
  }
  if (typeof others === 'object') {
    const name = Object.keys(record).find(name => !Object.hasOwn(properties, name) && !takes(others, record[name]))
    if (name !== undefined) return narrow({ schema: others, value: record[name], path: fieldBelow(place.path, name) })
  }
  // Each field is right by itself: one is missing, or one too many.
  const known = Object.fromEntries(Object.keys(properties).map(name => [name, {}]))
  return {
    ...place,
    schema: { ...rest, properties: known, ...(others === false && { additionalProperties: false }) } as TSchema,
  }
}

function takes(schema: TSchema, value: unknown): boolean {
  let check = compiled.get(schema)
  if (check === undefined) {
    check = Compile(schema)
    compiled.set(schema, check)
  }
  return check.Check(value)
}
