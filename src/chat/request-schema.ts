// The schema of a chat request, as data: it validates input and describes it in the OpenAPI document.
import Type from 'typebox'
import { CHOICES_MAX } from '../domain/catalog.ts'
import { ModelName, Name, ROUTING } from './routing-preferences.ts'

const MESSAGES_MAX = 2048
const STOPS_MAX = 4
const TOP_LOGPROBS_MAX = 20
const TOOLS_MAX = 128

const Text = Type.String()
// Any object. Not a record: its members would be checked one by one.
const Anything = Type.Object({})
const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }

// A URL that a provider fetches must not reach into the provider's own network or be readable on the way; and an id in a
// provider's storage may be another tenant's, since all share the operator's account there.
const ADDRESS = '^([Hh][Tt][Tt][Pp][Ss]://|[Dd][Aa][Tt][Aa]:)'
const Address = Type.String({ pattern: ADDRESS, description: 'An `https:` or `data:` URL.' })
// Checked by `isInline`: a pattern takes many times as long on megabytes.
const Inline = Type.String({ description: 'The data itself, as base64 or a `data:` URL.' })
// A description of the pattern.
export const PATTERNS: ReadonlyMap<unknown, string> = new Map([[ADDRESS, 'must be an https: or data: URL']])

// Base64, possibly with line ends, or a `data:` URL.
export function isInline(text: string): boolean {
  if (isDataUrl(text)) return true
  const end = text.search(NOT_BASE64)
  if (end < 0) return text !== ''
  return end > 0 && text.length - end <= PADDING_CHARS_MAX && PADDING.test(text.slice(end))
}

export function isDataUrl(text: string): boolean {
  return DATA_URL.test(text)
}

const DATA_URL = /^data:/i
const NOT_BASE64 = /[^A-Za-z0-9+/\r\n]/
const PADDING = /^={1,2}[\r\n]*$/
const PADDING_CHARS_MAX = 256

// Markers up to which a prompt may be cached, in OpenAI's format and the other usual one.
const Mark = Type.String({ maxLength: 64 })
const ttl = Type.Optional(Type.Union([Mark, Type.Null()]))
const marks = {
  cache_control: Type.Optional(Type.Object({ type: Mark, ttl }, { additionalProperties: false })),
  prompt_cache_breakpoint: Type.Optional(Type.Object({ mode: Mark, ttl }, { additionalProperties: false })),
}

// Of parts and messages only the fields listed here are forwarded.
const TextPart = Type.Object({ type: Type.Literal('text'), text: Text, ...marks })
export const PARTS = {
  text: TextPart,
  refusal: Type.Object({ type: Type.Literal('refusal'), refusal: Text, ...marks }),
  image_url: Type.Object({
    type: Type.Literal('image_url'),
    image_url: Type.Object({
      url: Address,
      detail: Type.Optional(Type.Enum(['auto', 'low', 'high'])),
    }),
    ...marks,
  }),
  input_audio: Type.Object({
    type: Type.Literal('input_audio'),
    input_audio: Type.Object({ data: Inline, format: Type.Enum(['wav', 'mp3']) }),
    ...marks,
  }),
  file: Type.Object({
    type: Type.Literal('file'),
    file: Type.Object({ file_data: Inline, filename: Type.Optional(Type.String({ maxLength: 1024 })) }),
    ...marks,
  }),
} as const
export type PartType = keyof typeof PARTS

// Parts are checked one by one, by their type, so that an error can name the part.
const Content = Type.Union([Text, Type.Array(Type.Object({ type: Type.String() }), { minItems: 1 })])

const ToolCall = Type.Object({
  id: Name,
  type: Type.Enum(['function', 'custom']),
  function: Type.Optional(Type.Object({ name: Name, arguments: Text })),
  custom: Type.Optional(Type.Object({ name: Name, input: Text })),
})

const spoken = { content: Content, name: Type.Optional(Name) }

export const MESSAGES = {
  system: Type.Object({ role: Type.Literal('system'), ...spoken }),
  developer: Type.Object({ role: Type.Literal('developer'), ...spoken }),
  user: Type.Object({ role: Type.Literal('user'), ...spoken }),
  assistant: Type.Object({
    role: Type.Literal('assistant'),
    content: Type.Optional(Type.Union([Content, Type.Null()])),
    name: Type.Optional(Name),
    refusal: Type.Optional(Text),
    tool_calls: Type.Optional(Type.Array(ToolCall, { minItems: 1, maxItems: TOOLS_MAX })),
    function_call: Type.Optional(Type.Object({ name: Name, arguments: Text })),
    // Beyond OpenAI's: fields of an earlier answer that other providers expect back, and an answer to be continued.
    reasoning_content: Type.Optional(Text),
    reasoning: Type.Optional(Text),
    reasoning_details: Type.Optional(Type.Array(Anything)),
    prefix: Type.Optional(Type.Boolean()),
  }),
  tool: Type.Object({ role: Type.Literal('tool'), ...spoken, tool_call_id: Name }),
  function: Type.Object({ role: Type.Literal('function'), content: Type.Union([Text, Type.Null()]), name: Name }),
} as const
export type Role = keyof typeof MESSAGES

// Under these names something is fetched, or taken from the provider's storage. Outside their place they are refused instead of
// omitted, since a caller that sends them relies on them.
export const REACHING: ReadonlySet<string> = new Set([
  ...[
    'file',
    'files',
    'file_id',
    'file_ids',
    'file_url',
    'file_data',
    'attachments',
    'document',
    'documents',
    'source',
  ],
  ...['url', 'image', 'images', 'image_url', 'input_image', 'video', 'videos', 'video_url', 'input_video'],
  ...['audio', 'audio_url', 'input_audio'],
])

const Tool = Type.Object({
  type: Type.Enum(['function', 'custom']),
  function: Type.Optional(
    Type.Object({
      name: Name,
      description: Type.Optional(Text),
      parameters: Type.Optional(Anything),
      strict: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    }),
  ),
  custom: Type.Optional(Anything),
})

const Bias = Type.Number({ minimum: -100, maximum: 100 })
const Stop = Type.Union([Text, Type.Array(Text, { maxItems: STOPS_MAX })])

const fields = {
  frequency_penalty: Type.Number({ minimum: -2, maximum: 2 }),
  function_call: Type.Union([Text, Type.Object({ name: Name })]),
  functions: Type.Array(Type.Object({ name: Name }), { maxItems: TOOLS_MAX }),
  logit_bias: Type.Object({}, { additionalProperties: Bias }),
  logprobs: Type.Boolean(),
  max_completion_tokens: Type.Integer({ ...safe, minimum: 1 }),
  max_tokens: Type.Integer({ ...safe, minimum: 1 }),
  metadata: Type.Object({}, { additionalProperties: Text }),
  modalities: Type.Array(Text),
  n: Type.Integer({ minimum: 1, maximum: CHOICES_MAX }),
  parallel_tool_calls: Type.Boolean(),
  presence_penalty: Type.Number({ minimum: -2, maximum: 2 }),
  prompt_cache_key: Type.String({ maxLength: 1024 }),
  prompt_cache_options: Anything,
  prompt_cache_retention: Type.String({ maxLength: 64 }),
  reasoning_effort: Type.String({ maxLength: 64 }),
  response_format: Type.Object({ type: Type.Enum(['text', 'json_object', 'json_schema']) }),
  safety_identifier: Type.String({ maxLength: 1024 }),
  // No bounds: past 2⁵³ it is forwarded with its digits.
  seed: Type.Integer({ description: 'An integer of any length, forwarded digit by digit.' }),
  service_tier: Text,
  session_id: Type.String({ maxLength: 1024 }),
  stop: Stop,
  store: Type.Boolean(),
  stream: Type.Boolean(),
  stream_options: Type.Object({ include_usage: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])) }),
  temperature: Type.Number({ minimum: 0, maximum: 2 }),
  tool_choice: Type.Union([Text, Anything]),
  tools: Type.Array(Tool, { minItems: 1, maxItems: TOOLS_MAX }),
  top_logprobs: Type.Integer({ minimum: 0, maximum: TOP_LOGPROBS_MAX }),
  top_p: Type.Number({ minimum: 0, maximum: 1 }),
  user: Type.String({ maxLength: 1024 }),
  verbosity: Type.Enum(['low', 'medium', 'high']),
  // The usual sampling fields beyond OpenAI's.
  min_p: Type.Number({ minimum: 0, maximum: 1 }),
  min_tokens: Type.Integer({ ...safe, minimum: 0 }),
  repetition_penalty: Type.Number({ minimum: 0, maximum: 10 }),
  top_a: Type.Number({ minimum: 0, maximum: 1 }),
  top_k: Type.Integer({ ...safe, minimum: -1 }),
  typical_p: Type.Number({ minimum: 0, maximum: 1 }),
} as const

type Fields = typeof fields
const optional = Object.fromEntries(
  Object.entries(fields).map(([name, schema]) => [name, Type.Optional(schema)]),
) as unknown as { [Name in keyof Fields]: ReturnType<typeof Type.Optional<Fields[Name]>> }

// Records whose names are the caller's. Their values are checked one by one.
export const RECORDS = { logit_bias: Bias, metadata: Text } as const

// The part that is checked at once; messages follow one by one, by their role, and so do the values of records.
export const Envelope = Type.Object({
  model: ModelName,
  messages: Type.Array(Type.Object({ role: Type.String() }), { minItems: 1, maxItems: MESSAGES_MAX }),
  ...optional,
  logit_bias: Type.Optional(Anything),
  metadata: Type.Optional(Anything),
  ...ROUTING,
})

// The complete schema, for the OpenAPI document.
export const ChatRequest = Type.Object({
  ...Envelope.properties,
  ...optional,
  messages: Type.Array(Type.Union(Object.values(MESSAGES)), { minItems: 1, maxItems: MESSAGES_MAX }),
})

// Identifiers of a tenant's users: they are sent upstream only as an HMAC with the account.
export const IDENTIFIERS: readonly string[] = ['user', 'safety_identifier', 'prompt_cache_key', 'session_id']

// Fields that are forwarded to every provider unchanged; these others are written by the gateway.
const ours = ['max_tokens', 'max_completion_tokens', 'stream', 'stream_options', ...IDENTIFIERS]
export const FORWARDED: readonly string[] = Object.keys(fields).filter(name => !ours.includes(name))
