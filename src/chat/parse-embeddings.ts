// Converts the body of a request for embeddings to a Chat, or a Refusal that names the field. Lists of up to millions of tokens
// are checked by loops, since a schema would take several times as long. Pure.
import { Type } from 'typebox'
import { EMBEDDING_INPUTS_MAX } from '../domain/catalog.ts'
import type { Chat, Embedding } from '../domain/chat.ts'
import { readReasoningPreference } from '../domain/reasoning.ts'
import { Refusal } from '../domain/refusal.ts'
import { firstError, missing, validatorOf } from './request-errors.ts'
import { ModelName, normalizePreferences, ROUTING, readPreferences } from './routing-preferences.ts'
import { checkPriced, checkPricedInside } from './unpriced-fields.ts'

const TOKEN_MAX = 2 ** 31 - 1
const DIMENSIONS_MAX = 65_536

const Text = Type.String({ minLength: 1 })
const Tokens = Type.Array(Type.Integer({ minimum: 0, maximum: TOKEN_MAX }), { minItems: 1 })
const inputs = { minItems: 1, maxItems: EMBEDDING_INPUTS_MAX }

const fields = {
  model: ModelName,
  encoding_format: Type.Optional(Type.Enum(['float', 'base64'], { default: 'float' })),
  dimensions: Type.Optional(Type.Integer({ minimum: 1, maximum: DIMENSIONS_MAX })),
  user: Type.Optional(Type.String({ maxLength: 1024 })),
  session_id: Type.Optional(Type.String({ maxLength: 1024 })),
  ...ROUTING,
}
const Envelope = Type.Object(fields)

// The complete schema, for the OpenAPI document.
export const EmbeddingsRequest = Type.Object({
  model: fields.model,
  input: Type.Union([Text, Type.Array(Text, inputs), Tokens, Type.Array(Tokens, inputs)], {
    description: 'A text, texts, a list of tokens, or lists of tokens. Not every provider accepts tokens.',
  }),
  encoding_format: fields.encoding_format,
  dimensions: fields.dimensions,
  user: fields.user,
  ...ROUTING,
})

const envelope = validatorOf(Envelope)
const IDENTIFIERS = ['user', 'session_id'] as const

export function parseEmbeddings(body: Record<string, unknown>): Chat {
  const extras = sortFields(body)
  const leftOut: string[] = []
  normalizePreferences(body, leftOut)
  const { input, ...rest } = body
  if (!envelope.Check(rest)) throw firstError(Envelope, rest, '')
  if (input === undefined) throw missing('input')
  const inputs = inputsOf(input)
  const texts = typeof inputs[0] === 'string' ? (inputs as readonly string[]) : []
  const identifiers: Record<string, string> = {}
  for (const name of IDENTIFIERS) if (body[name] !== undefined) identifiers[name] = body[name] as string
  return {
    dialect: 'embeddings',
    embedding: {
      inputs,
      encoding: body.encoding_format === 'base64' ? 'base64' : 'float',
      dimensions: (body.dimensions as number | undefined) ?? null,
    },
    model: body.model as string,
    stream: false,
    includeUsage: false,
    n: 1,
    maxTokens: null,
    maxTokensName: 'max_tokens',
    messages: texts.map(content => ({ role: 'user', content })),
    // Each provider is sent the inputs in its own form.
    messagesJson: '',
    promptBytes: sizeOf(inputs),
    media: [],
    remoteMedia: undefined,
    forwarded: {},
    identifiers,
    extras,
    leftOut,
    preferences: readPreferences(body),
    reasoning: readReasoningPreference({}),
  }
}

// Unknown fields are sent only to providers that list them as `passthrough`. An explicit null means absent.
function sortFields(body: Record<string, unknown>): Map<string, unknown> {
  const extras = new Map<string, unknown>()
  for (const name of Object.keys(body)) {
    const value = body[name]
    if (value === null) delete body[name]
    if (value === null || name === 'input' || Object.hasOwn(fields, name)) continue
    checkPriced(name, value, '')
    if (typeof value === 'object') checkPricedInside(value, name)
    extras.set(name, value)
  }
  return extras
}

// A text or a list of tokens is one input. The first entry of a list decides what the others must be.
function inputsOf(input: unknown): Embedding['inputs'] {
  if (typeof input === 'string') return [checkText(input, 'input')]
  if (!Array.isArray(input)) throw wrong('input', 'must be a string, a list of strings, or lists of tokens')
  const list = input as readonly unknown[]
  if (list.length === 0) throw wrong('input', 'must not be empty')
  const [first] = list
  if (typeof first === 'number') return [checkTokens(list, 'input')]
  if (list.length > EMBEDDING_INPUTS_MAX) throw wrong('input', `must have at most ${EMBEDDING_INPUTS_MAX} entries`)
  if (typeof first === 'string') return list.map((text, index) => checkText(text, `input.${index}`))
  return list.map((tokens, index) => checkTokens(tokens, `input.${index}`))
}

function checkText(text: unknown, path: string): string {
  if (typeof text !== 'string') throw wrong(path, 'must be a string, like the first input')
  if (text === '') throw wrong(path, 'must not be empty')
  return text
}

function checkTokens(tokens: unknown, path: string): readonly number[] {
  if (!Array.isArray(tokens)) throw wrong(path, 'must be a list of tokens')
  if (tokens.length === 0) throw wrong(path, 'must not be empty')
  for (let i = 0; i < tokens.length; i++) {
    const token: unknown = tokens[i]
    if (!Number.isInteger(token) || (token as number) < 0 || (token as number) > TOKEN_MAX)
      throw wrong(`${path}.${i}`, `must be a token: a whole number from 0 to ${TOKEN_MAX}`)
  }
  return tokens as readonly number[]
}

function wrong(param: string, problem: string): Refusal {
  return new Refusal('invalid_value', { param, message: `${param} ${problem}.` })
}

// The bytes of texts, of which no token has less than one; the number of tokens where they are given.
function sizeOf(inputs: Embedding['inputs']): number {
  let size = 0
  for (const input of inputs) size += typeof input === 'string' ? Buffer.byteLength(input) : input.length
  return size
}
