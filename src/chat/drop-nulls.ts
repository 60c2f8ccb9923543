// An explicit null means absent, at any depth: removes nulls wherever a schema names the field and does not accept null. What a
// schema leaves open, such as the parameters of a tool, stays unchanged.
import type { TSchema } from 'typebox'

type Described = {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly patternProperties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: boolean | TSchema
}

// Whether there were any.
export function dropNulls(value: unknown, schema: TSchema): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { anyOf = [], items, properties = {}, patternProperties = {}, additionalProperties: open } = schema as Described
  let found = false
  const drop = (inner: unknown, shape: TSchema) => {
    found = dropNulls(inner, shape) || found
  }
  for (const shape of anyOf) drop(value, shape)
  if (Array.isArray(value)) {
    if (items !== undefined) for (const entry of value) drop(entry, items)
    return found
  }
  const record = value as Record<string, unknown>
  for (const [name, field] of Object.entries(properties)) {
    if (record[name] !== null || takesNull(field)) drop(record[name], field)
    else found = delete record[name]
  }
  const others = typeof open === 'object' ? [open] : Object.values(patternProperties)
  for (const field of others) {
    if (takesNull(field)) continue
    for (const name of Object.keys(record)) if (record[name] === null) found = delete record[name]
  }
  return found
}

function takesNull(schema: TSchema): boolean {
  const { type, anyOf, enum: values } = schema as Described
  if (values !== undefined) return values.includes(null)
  return anyOf === undefined ? type === undefined || type === 'null' : anyOf.some(takesNull)
}
