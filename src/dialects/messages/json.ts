// A Messages answer as one JSON object: the provider's own with our id, model and usage, or translated from a chat completion.
// Money is written as exact digits, never through a float.
import { formatCredits } from '../../domain/credits.ts'
import type { Receipt, WholeChoice } from '../../domain/handoff.ts'
import { parseWritten } from '../../lib/written-json.ts'
import { metadataJson } from '../chat/json.ts'
import type { OpenedAnswer, WholeWriter } from '../dialect.ts'
import { detailsOf, stopOf, toolUseId } from './answer.ts'
import { signedId } from './signed-ids.ts'

export function messagesWhole({ requestId, explain, chat }: OpenedAnswer): WholeWriter {
  let fields: string | undefined
  let own: unknown
  return {
    whole({ choices, native }) {
      own = native?.usage
      fields = JSON.stringify(native === undefined ? translated(choices[0], chat, requestId) : passedThrough(native))
    },
    body(by, receipt) {
      if (fields === undefined) return undefined
      const head = `{"id":${JSON.stringify(messageId(requestId))},"type":"message","role":"assistant","model":${JSON.stringify(by.model)}`
      return `${head},${fields.slice(1, -1)},"usage":${usageJson(receipt, own)}${explain ? `,${metadataJson(by)}` : ''}}`
    },
  }
}

export function messageId(requestId: string): string {
  return `msg_${requestId}`
}

// Anthropic's meaning: `input_tokens` has neither what was read from the cache nor what was written to it. What else the provider
// reports stays, without its counts.
export function usageJson({ tokens, cost }: Receipt, own: unknown): string {
  const { prompt, cached, cacheWrite, completion, reasoning } = tokens
  const others = JSON.stringify({ ...NOT_REPORTED, ...othersOf(own) }).slice(1, -1)
  const details = reasoning === 0 ? 'null' : `{"thinking_tokens":${reasoning}}`
  return (
    `{"input_tokens":${prompt - cached - cacheWrite},"cache_creation_input_tokens":${cacheWrite},` +
    `"cache_read_input_tokens":${cached},"output_tokens":${completion},"output_tokens_details":${details},` +
    `${others},"cost":${formatCredits(cost)}}`
  )
}

// Fields that Anthropic's clients expect in every answer.
const NOT_REPORTED = {
  cache_creation: null,
  inference_geo: null,
  server_tool_use: null,
  service_tier: null,
  speed: null,
}
export const NO_USAGE = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 0,
  output_tokens_details: null,
  ...NOT_REPORTED,
}
export const NO_DETAILS = { stop_details: null, container: null }

function othersOf(own: unknown): Readonly<Record<string, unknown>> {
  if (typeof own !== 'object' || own === null) return {}
  const others: Record<string, unknown> = { ...own }
  for (const name of COUNTS) delete others[name]
  return others
}

const COUNTS = [
  'input_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
  'output_tokens',
  'output_tokens_details',
  'cost',
]

function passedThrough(native: Readonly<Record<string, unknown>>): object {
  const { id: _, type: __, role: ___, model: ____, usage: _____, ...others } = native
  return others
}

function translated(choice: WholeChoice | undefined, chat: OpenedAnswer['chat'], requestId: string): object {
  const message = choice?.message ?? { role: 'assistant', content: null }
  const calls = (Array.isArray(message.tool_calls) ? message.tool_calls : []) as readonly unknown[]
  const texts = [message.content, message.refusal].filter(text => typeof text === 'string' && text !== '')
  const content = [
    ...detailsOf(message).map(detail =>
      detail.data === undefined
        ? { type: 'thinking', thinking: detail.text, signature: detail.signature ?? '' }
        : { type: 'redacted_thinking', data: detail.data },
    ),
    ...texts.map(text => ({ type: 'text', text, citations: null })),
    ...calls.map((call, index) => toolUse(call, toolUseId(requestId, index))),
  ]
  return { content, ...stopOf(choice, calls.length > 0, chat), ...NO_DETAILS, diagnostics: null }
}

// A tool is called by the model itself.
export const DIRECT = { type: 'direct' }

function toolUse(call: unknown, ownId: string): object {
  const { id, function: called, custom } = (call ?? {}) as Readonly<Record<string, Record<string, unknown> | string>>
  const { name, arguments: text, input } = (called ?? custom ?? {}) as Readonly<Record<string, unknown>>
  return {
    type: 'tool_use',
    id: signedId(typeof id === 'string' && id !== '' ? id : ownId, (call ?? {}) as Readonly<Record<string, unknown>>),
    name: typeof name === 'string' ? name : '',
    input: inputOf(text ?? input),
    caller: DIRECT,
  }
}

// A model writes the arguments; what is not an object is kept as text.
function inputOf(text: unknown): object {
  if (typeof text !== 'string' || text.trim() === '') return {}
  const input = parseWritten(text)
  if (input === undefined) return { input: text }
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { input }
}
