// Finds the first schema violation in a chat request and converts it to a refusal that names the field. Typebox lists errors by
// a walk over the whole value, which takes long for tens of thousands of members: here compiled checks descend to the smallest
// part that fails, and only that part is examined for its message.
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Refusal } from '../domain/refusal.ts'
import { PATTERNS } from './request-schema.ts'

type Described = TSchema & {
  readonly type?: string
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly additionalProperties?: boolean | TSchema
}

// For a value that the schema refuses.
export function firstError(schema: TSchema, value: unknown, path: string): Refusal {
  const { anyOf, ...described } = schema as Described
  if (anyOf !== undefined) return errorOfChoice(schema, shapesOf(anyOf), value, path)
  if (Array.isArray(value) && described.type === 'array') return errorInList(described, value, path)
  if (described.type === 'object' && typeof value === 'object' && value !== null && !Array.isArray(value))
    return errorInObject(described, value as Readonly<Record<string, unknown>>, path)
  return ownError(schema, value, path)
}

// An error inside the intended shape is more useful than the statement that no shape fits.
function errorOfChoice(choice: TSchema, shapes: readonly TSchema[], value: unknown, path: string): Refusal {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'object' && value !== null ? 'object' : undefined
  const meant = kind === undefined ? [] : shapes.filter(({ type }: Described) => type === kind)
  const [shape] = meant
  return meant.length === 1 && shape !== undefined ? firstError(shape, value, path) : ownError(choice, value, path)
}

// Including choices nested in a choice.
function shapesOf(anyOf: readonly TSchema[]): readonly TSchema[] {
  return anyOf.flatMap(shape => {
    const { anyOf: inner } = shape as Described
    return inner === undefined ? [shape] : shapesOf(inner)
  })
}

function errorInList({ items, ...list }: Described, value: readonly unknown[], path: string): Refusal {
  if (items === undefined) return ownError(list, value, path)
  const check = validatorOf(items)
  const at = value.findIndex(item => !check.Check(item))
  return at < 0 ? ownError(list, value, path) : firstError(items, value[at], fieldBelow(path, String(at)))
}

function errorInObject(
  { properties = {}, required = [], additionalProperties: others, ...object }: Described,
  value: Readonly<Record<string, unknown>>,
  path: string,
): Refusal {
  for (const name of required) if (!Object.hasOwn(value, name)) return missing(fieldBelow(path, name))
  if (others === false) {
    for (const name of Object.keys(value))
      if (!Object.hasOwn(properties, name)) return notKnown(fieldBelow(path, name.slice(0, NAME_CHARS_MAX)))
  }
  for (const [name, field] of Object.entries(properties)) {
    if (value[name] !== undefined && !validatorOf(field).Check(value[name]))
      return firstError(field, value[name], fieldBelow(path, name))
  }
  return ownError(object, value, path)
}

const NAME_CHARS_MAX = 256

function ownError(schema: TSchema, value: unknown, path: string): Refusal {
  return wrongField(validatorOf(schema).Errors(value), path)
}

// As many as the schemas of a chat have parts; schemas combined for one error are not kept.
export function validatorOf(schema: TSchema): Validator {
  let check = validators.get(schema)
  if (check === undefined) {
    check = Compile(schema)
    validators.set(schema, check)
  }
  return check
}

export type Validator = ReturnType<typeof Compile>

const validators = new WeakMap<TSchema, Validator>()

type SchemaError = {
  readonly keyword: string
  readonly instancePath: string
  readonly message?: string
  readonly params: object
}

function wrongField(errors: readonly SchemaError[], prefix: string): Refusal {
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

// In words where the schema's own are terse; undefined for the others.
function wordsFor({ keyword, params }: SchemaError): string | undefined {
  const { pattern, type, allowedValues, limit } = params as Readonly<Record<string, unknown>>
  switch (keyword) {
    case 'pattern':
      return PATTERNS.get(pattern)
    case 'type':
      return TYPES.get(type)
    case 'enum':
      return Array.isArray(allowedValues) ? `must be one of ${allowedValues.join(', ')}` : undefined
    case 'minimum':
      return `must be at least ${limit}`
    case 'maximum':
      return `must be at most ${limit}`
    case 'minItems':
      return limit === 1 ? 'must not be empty' : undefined
    default:
      return undefined
  }
}

const TYPES: ReadonlyMap<unknown, string> = new Map([
  ['array', 'must be an array'],
  ['object', 'must be an object'],
  ['string', 'must be a string'],
  ['number', 'must be a number'],
  ['integer', 'must be an integer'],
  ['boolean', 'must be true or false'],
])

export function notKnown(path: string): Refusal {
  const param = fieldPath('', path)
  return new Refusal('invalid_value', { param, message: `${param} is not a known field.` })
}

export function missing(param: string): Refusal {
  return new Refusal('missing_field', { param, message: `${param} is missing.` })
}

// The path of an invalid field in a body, as an error's `param` names it.
const PARAM_MAX = 256

// Converts a JSON pointer to `messages.2.content`. Names come from the caller, so they are shortened and made well-formed.
export function fieldPath(pointer: string, prefix = ''): string {
  const steps = pointer.split('/').slice(1)
  const names = steps.map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return (prefix === '' ? names : [prefix, ...names]).join('.').slice(0, PARAM_MAX).toWellFormed()
}

export function fieldBelow(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
