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
  description: 'Server-sent events with one chunk each; the last one is `data: [DONE]`.',
  contentMediaType: 'application/json',
  contentSchema: described(ChatChunkShape),
}

export function chatOperation(brand: Brand): Operation {
  const about: About = [
    'createChatCompletion',
    'Chat',
    'Create a chat completion, as JSON or as a stream',
    'Requires the scope `chat.completions`. The model determines which providers are tried. If a provider fails before sending content, the next one is tried. ' +
      'The cost is charged before the last byte is sent; header, trailer, `usage.cost`, usage record and ledger have the same value.',
  ]
  const answer: Response = {
    description: 'One JSON object, or with `stream: true` server-sent events that end with `data: [DONE]`.',
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
      '`1` adds the routing decisions (`metadata.candidates`) to the response or the first chunk, unless the operator has disabled it. Other values are ignored.',
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
    'Estimate the cost and provider of a chat without calling a provider',
    'Takes the same body and scope as a chat. The estimate uses the prompt tokens counted by the tokenizer and a response of `max_tokens`, or 512 tokens by default; ' +
      'the worst case is an upper bound. A quote counts as a request and is free.',
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
  description: `An id of the client, stored on the usage record if it has 1 to ${CLIENT_REQUEST_ID_MAX} visible ASCII characters without spaces; other values are ignored.`,
  schema: { type: 'string' },
}
