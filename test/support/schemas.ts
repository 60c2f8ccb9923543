// Checks answers against the types that the vendors' own packages publish: JSON Schemas generated from them at test time,
// cached on disk by version, compiled by ajv. Unknown extra properties are allowed, missing and mistyped ones are not.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv, type ValidateFunction } from 'ajv'
import type * as Generator from 'ts-json-schema-generator'

type TypeName = keyof typeof TYPES

type Schema = { [key: string]: unknown }

export function assertChatCompletion(value: unknown): void {
  check('ChatCompletion', value)
}

export function assertChunk(value: unknown): void {
  check('ChatCompletionChunk', value)
}

// The last chunk of a broken stream has `error` and finish_reason "error", which OpenAI's own type lacks: everything
// else of it must still be a chunk.
export function assertErrorChunk(value: unknown): void {
  const chunk = structuredClone(value) as { error?: Schema; choices?: { finish_reason?: unknown }[] }
  for (const field of ['message', 'type', 'code']) {
    if (typeof chunk.error?.[field] !== 'string') throw new Error(`error.${field} is not a string: ${brief(value)}`)
  }
  for (const choice of chunk.choices ?? []) {
    if (choice.finish_reason !== 'error') throw new Error(`finish_reason is not "error": ${brief(value)}`)
    choice.finish_reason = 'stop'
  }
  check('ChatCompletionChunk', chunk)
}

export function assertModel(value: unknown): void {
  check('Model', value)
}

export function assertMessage(value: unknown): void {
  check('Message', value)
}

export function assertMessageEvent(value: unknown): void {
  check('RawMessageStreamEvent', value)
}

export function assertResponse(value: unknown): void {
  check('Response', value)
}

export function assertResponseEvent(value: unknown): void {
  check('ResponseStreamEvent', value)
}

const require = createRequire(import.meta.url)
const ROOT = join(import.meta.dirname, '../..')
// Each with its package and the file that declares it.
const TYPES = {
  ChatCompletion: ['openai', 'resources/chat/completions/completions.d.ts'],
  ChatCompletionChunk: ['openai', 'resources/chat/completions/completions.d.ts'],
  Model: ['openai', 'resources/models.d.ts'],
  Response: ['openai', 'resources/responses/responses.d.ts'],
  ResponseStreamEvent: ['openai', 'resources/responses/responses.d.ts'],
  Message: ['@anthropic-ai/sdk', 'resources/messages/messages.d.ts'],
  RawMessageStreamEvent: ['@anthropic-ai/sdk', 'resources/messages/messages.d.ts'],
} as const
const compiled = new Map<TypeName, ValidateFunction>()
const generators = new Map<string, Generator.SchemaGenerator>()

function check(type: TypeName, value: unknown): void {
  const validate = compiled.get(type) ?? compile(type)
  if (validate(value)) return
  const problems = (validate.errors ?? []).map(error => {
    const allowed = error.params.allowedValues ?? error.params.allowedValue
    const path = error.instancePath === '' ? 'the value' : error.instancePath
    return `  ${path} ${error.message}${allowed === undefined ? '' : ` (${JSON.stringify(allowed)})`}`
  })
  throw new Error(`not a ${type}:\n${problems.join('\n')}\n  in ${brief(value)}`)
}

function compile(type: TypeName): ValidateFunction {
  const validate = new Ajv({ allErrors: true, strict: false }).compile(schemaOf(type))
  compiled.set(type, validate)
  return validate
}

// Tests run in many processes at once: the file appears complete, by rename, and a second writer just replaces it.
function schemaOf(type: TypeName): Schema {
  const [pack] = TYPES[type]
  const name = `${type}-${pack.replaceAll('/', '+')}-${versionOf(pack)}-v2.json`
  const cache = join(ROOT, 'node_modules/.cache/turnpike-schemas', name)
  if (existsSync(cache)) return JSON.parse(readFileSync(cache, 'utf8')) as Schema
  const schema = withIntegers(withoutOutputText(generate(type))) as Schema
  mkdirSync(dirname(cache), { recursive: true })
  const draft = `${cache}.${randomUUID()}`
  writeFileSync(draft, JSON.stringify(schema))
  renameSync(draft, cache)
  return schema
}

// Loaded only on a cache miss: the generator includes a whole TypeScript 5 and takes seconds.
function generate(type: TypeName): Schema {
  const { createGenerator } = require('ts-json-schema-generator') as typeof Generator
  const path = join(ROOT, 'node_modules', ...TYPES[type])
  const options = { path, skipTypeCheck: true, additionalProperties: true, jsDoc: 'none' } as const
  let generator = generators.get(path)
  if (generator === undefined) {
    generator = createGenerator(options)
    generators.set(path, generator)
  }
  return generator.createSchema(type) as Schema
}

// The client adds it to what it receives.
function withoutOutputText(schema: Schema): Schema {
  const { Response: response } = (schema.definitions ?? {}) as { Response?: { required?: string[] } }
  if (response?.required !== undefined) response.required = response.required.filter(name => name !== 'output_text')
  return schema
}

// TypeScript has only `number`; counts, positions and times must be integers.
function withIntegers(node: unknown, name = ''): unknown {
  if (Array.isArray(node)) return node.map(item => withIntegers(item))
  if (typeof node !== 'object' || node === null) return node
  if ('type' in node && node.type === 'number' && /(_tokens|^index|^created)$/.test(name)) {
    return { ...node, type: 'integer', minimum: 0 }
  }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withIntegers(value, key)]))
}

function versionOf(name: string): string {
  const text = readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function brief(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 600)
}

// The test command runs this file by itself, before the first test needs a schema: concurrently, and with coverage,
// generating them would take three times as long, and in several processes at once.
if (import.meta.main) for (const type of Object.keys(TYPES)) schemaOf(type as TypeName)
