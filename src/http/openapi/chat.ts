// POST /v1/chat/completions as an OpenAPI operation, and what all operations under /v1 share.
import { ChatRequest } from '../../chat/request-schema.ts'
import type { RefusalCode } from '../../domain/refusal.ts'
import { CLIENT_REQUEST_ID_MAX } from '../../domain/usage.ts'
import { ChatChunkShape, ChatCompletionShape, ChatQuoteShape } from '../v1/shapes.ts'
import type { Brand, Operation, Parameter, Response, Schema } from './document.ts'
import { v1Errors } from './errors.ts'
import { CHAT_COMPLETION, CHAT_REQUEST, CHAT_STREAM } from './examples.ts'
import { chatHeaders, v1Headers } from './headers.ts'
import { described } from './schemas.ts'

const CODES: readonly RefusalCode[] = [
  'account_suspended',
  'insufficient_scope',
  'unsupported_media_type',
  'request_too_large',
  'invalid_json',
  'invalid_value',
  'missing_field',
  'unsupported_value',
  'model_not_found',
  'context_length_exceeded',
  'insufficient_credits',
  'credits_held',
  'upstream_rejected',
  'provider_unavailable',
  'upstream_timeout',
  'all_providers_failed',
]

// The body is text; the schema is that of one event's data.
const STREAM: Schema = {
  type: 'string',
  description: 'Server-sent events: each has one chunk as its `data`; the last one is `data: [DONE]`.',
  contentMediaType: 'application/json',
  contentSchema: described(ChatChunkShape),
}

export function chatOperation(brand: Brand): Operation {
  const about: About = [
    'createChatCompletion',
    'Chat',
    'Answer a chat, as JSON or as a stream',
    'Needs the scope `chat.completions`. The model decides which providers are tried; one that fails before any content came is followed by the next, unseen. ' +
      'The cost is booked before the last byte leaves, and header, trailer, `usage.cost`, usage record and ledger all say the same number.',
  ]
  const answer: Response = {
    description: 'The answer: one JSON object, or with `stream: true` server-sent events that end with `data: [DONE]`.',
    headers: chatHeaders(brand),
    content: {
      'application/json': { schema: described(ChatCompletionShape), example: CHAT_COMPLETION },
      'text/event-stream': { schema: STREAM, example: CHAT_STREAM },
    },
  }
  return {
    ...v1Operation(about, [CLIENT_REQUEST_ID, explainHeader(brand)], { '200': answer, ...v1Errors(CODES, brand) }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(ChatRequest), example: CHAT_REQUEST } },
    },
  }
}

function explainHeader({ headerPrefix }: Brand): Parameter {
  return {
    name: `${headerPrefix}Explain`,
    in: 'header',
    required: false,
    description:
      '`1` adds to the answer, or to the first chunk, who was considered, in which order and why (`metadata.candidates`), unless the operator forbids it. Any other value adds nothing.',
    schema: { type: 'string' },
    example: '1',
  }
}

// Refusals shared by a chat and its quote.
const QUOTED: readonly RefusalCode[] = CODES.slice(0, CODES.indexOf('insufficient_credits'))

export function quoteOperation(brand: Brand): Operation {
  const about: About = [
    'quoteChatCompletion',
    'Chat',
    'What a chat would cost and who would serve it, without calling anybody',
    'The same body, the same scope. The estimate takes the prompt as the tokenizer counts it, and an answer of `max_tokens`, or of 512 tokens where that is absent; ' +
      'the worst case is what no answer can exceed. It counts as a request, and costs nothing.',
  ]
  const answer: Response = {
    description: 'The quote.',
    headers: v1Headers(brand, []),
    content: { 'application/json': { schema: described(ChatQuoteShape) } },
  }
  return {
    ...v1Operation(about, [CLIENT_REQUEST_ID], { '200': answer, ...v1Errors(QUOTED, brand) }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(ChatRequest), example: CHAT_REQUEST } },
    },
  }
}

export type About = readonly [operationId: string, tag: string, summary: string, description: string]

export function v1Operation(
  about: About,
  parameters: readonly Parameter[],
  responses: Operation['responses'],
): Operation {
  const [operationId, tag, summary, description] = about
  return { operationId, tags: [tag], summary, description, security: [{ apiKey: [] }], parameters, responses }
}

export const CLIENT_REQUEST_ID: Parameter = {
  name: 'X-Client-Request-Id',
  in: 'header',
  required: false,
  description: `The caller's own id, kept on the usage record if it is 1 to ${CLIENT_REQUEST_ID_MAX} visible ASCII characters without blanks; anything else is accepted and not kept.`,
  schema: { type: 'string' },
}
