// Validates a value by a TypeBox schema and describes its faults: the path, the kind, and what is expected there.
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

export type Path = readonly (string | number)[]

// Error codes follow from the kind; the problem is for people only and continues after the name of the field.
export type Fault = {
  readonly path: Path
  readonly kind: 'missing' | 'unknown' | 'invalid'
  readonly problem: string
}

// In document order.
export type Faults = Generator<Fault, void, undefined>

// The description of a pattern, as it reads after "must be".
export type PatternWords = (pattern: string) => string

// Compiled on first use: a start does not pay for schemas that are not used.
export function faultFinder(schema: TSchema, words: PatternWords): (value: unknown) => Fault | undefined {
  let compiled: ReturnType<typeof Compile> | undefined
  return value => {
    compiled ??= Compile(schema)
    return compiled.Check(value) ? undefined : describe(compiled.Errors(value), { schema, value, words })
  }
}

// All faults that one check finds, at most eight; each path once.
export function faultsFinder(schema: TSchema, words: PatternWords): (value: unknown) => readonly Fault[] {
  let compiled: ReturnType<typeof Compile> | undefined
  return value => {
    compiled ??= Compile(schema)
    return compiled.Check(value) ? [] : describeAll(compiled.Errors(value), { schema, value, words })
  }
}

export function missingField(...path: Path): Fault {
  return { path, kind: 'missing', problem: 'is missing' }
}

export function invalidField(path: Path, problem: string): Fault {
  return { path, kind: 'invalid', problem }
}

// The parts of JSON Schema that our schemas use.
export type JsonSchema = TSchema & {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
}

// The schema of a member or of an entry; undefined where any value is allowed or none is known.
export function schemaBelow(schema: JsonSchema | undefined, step: string | number): JsonSchema | undefined {
  if (schema === undefined) return undefined
  const { properties = {}, patternProperties = {}, items, anyOf } = schema
  if (anyOf !== undefined) return schemaBelow(withoutNull(schema), step)
  if (typeof step === 'number') return items
  return Object.hasOwn(properties, step) ? properties[step] : Object.values(patternProperties)[0]
}

// For a schema or null, the schema; for any other choice, the choice itself.
export function withoutNull(schema: JsonSchema): JsonSchema | undefined {
  const others = schema.anyOf?.filter(({ type }) => type !== 'null')
  return others === undefined ? schema : others.length === 1 ? others[0] : undefined
}

type Complaint = ReturnType<ReturnType<typeof Compile>['Errors']>[number]
type Checked = { readonly schema: JsonSchema; readonly value: unknown; readonly words: PatternWords }

// An unknown field is reported before a missing one: it may be the same one, misspelled.
function describe(complaints: readonly Complaint[], { schema, value, words }: Checked): Fault {
  const [first] = complaints
  if (first === undefined) return invalidField([], 'is not valid')
  const path = pathOf(first.instancePath, value)
  if (first.keyword === 'required') {
    const { requiredProperties } = first.params
    const unknown = complaints.find(isUnknownField)
    const isSibling = unknown !== undefined && parentOf(unknown.instancePath) === first.instancePath
    return isSibling
      ? unknownField(pathOf(unknown.instancePath, value), schema, words)
      : missingField(...path, requiredProperties[0] ?? '')
  }
  if (isUnknownField(first)) return unknownField(path, schema, words)
  const below = path.reduce<JsonSchema | undefined>(schemaBelow, schema)
  return invalidField(path, below === undefined ? 'is not valid' : problemOf(below, valueAt(value, path), words))
}

// Without what only sums up others.
function describeAll(complaints: readonly Complaint[], checked: Checked): readonly Fault[] {
  const faults = complaints
    .filter(({ keyword }) => keyword !== 'additionalProperties' && keyword !== 'anyOf')
    .flatMap(complaint => {
      if (complaint.keyword !== 'required') return [describe([complaint], checked)]
      const path = pathOf(complaint.instancePath, checked.value)
      return complaint.params.requiredProperties.map((name: string) => missingField(...path, name))
    })
  return [...new Map(faults.toReversed().map(fault => [JSON.stringify(fault.path), fault])).values()].toReversed()
}

function isUnknownField({ keyword, schemaPath }: Complaint): boolean {
  return keyword === 'boolean' && schemaPath.endsWith('/additionalProperties')
}

function unknownField(path: Path, schema: JsonSchema, words: PatternWords): Fault {
  const parent = path.slice(0, -1).reduce<JsonSchema | undefined>(schemaBelow, schema)
  const { properties = {}, patternProperties = {} } = (parent && withoutNull(parent)) ?? {}
  const known = Object.keys(properties)
  const [pattern] = Object.keys(patternProperties)
  if (pattern !== undefined) return invalidField(path, `must have as its name ${words(pattern)}`)
  const problem = known.length === 0 ? 'is not a known field' : `is not a known field; known are ${known.join(', ')}`
  return { path, kind: 'unknown', problem }
}

function problemOf(schema: JsonSchema, value: unknown, words: PatternWords): string {
  const meant = withoutNull(schema)
  if (meant === undefined) return 'is not valid'
  if (meant.enum !== undefined) return `must be one of ${meant.enum.join(', ')}`
  if (meant.const !== undefined) return `must be ${JSON.stringify(meant.const)}`
  if (meant.type === 'string') return problemOfText(meant, value, words)
  if (meant.type === 'integer') return `must be a whole number${rangeOf(meant)}`
  if (meant.type === 'number') return `must be a number${rangeOf(meant)}`
  if (meant.type === 'boolean') return 'must be true or false'
  if (meant.type === 'array') return Array.isArray(value) ? problemOfSize(meant, value.length) : 'must be a list'
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? problemOfSize(meant, 1) : 'must be an object (a mapping of names to values)'
}

function problemOfText({ pattern, maxLength, minLength = 0 }: JsonSchema, value: unknown, words: PatternWords): string {
  const expected = pattern === undefined ? undefined : words(pattern)
  if (typeof value !== 'string') return `must be a string, in quotes${expected === undefined ? '' : `: ${expected}`}`
  if (value === '' && minLength > 0) return 'must not be empty'
  if (maxLength !== undefined && value.length > maxLength) return `must have at most ${maxLength} characters`
  return expected === undefined ? `must have at least ${minLength} characters` : `must be ${expected}`
}

function problemOfSize({ minItems = 0, maxItems, maxProperties }: JsonSchema, size: number): string {
  if (size < minItems) return `must have at least ${minItems === 1 ? 'one entry' : `${minItems} entries`}`
  return `must have at most ${maxItems ?? maxProperties} entries`
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  if (exclusiveMinimum !== undefined) return ` above ${exclusiveMinimum}, at most ${maximum}`
  if (minimum === undefined) return maximum === undefined ? '' : ` of at most ${maximum}`
  return maximum === undefined ? ` of at least ${minimum}` : ` from ${minimum} to ${maximum}`
}

// From a JSON pointer; an entry of a list by its number.
function pathOf(pointer: string, value: unknown): Path {
  const path: (string | number)[] = []
  let parent = value
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const key = Array.isArray(parent) ? Number(name) : name
    path.push(key)
    parent = valueAt(parent, [key])
  }
  return path
}

function parentOf(pointer: string): string {
  return pointer.slice(0, pointer.lastIndexOf('/'))
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce((parent, step) => (parent as Record<string | number, unknown> | null | undefined)?.[step], value)
}
