// The response object of OpenAI's Responses API, as JSON: the request's fields come back in it, and money is written as exact
// digits, never through a float.
import type { Chat } from '../../domain/chat.ts'
import { formatCredits } from '../../domain/credits.ts'
import type { Receipt } from '../../domain/handoff.ts'
import { errorBody, type Refusal } from '../../domain/refusal.ts'
import type { ServedBy } from '../../relay/sink.ts'
import type { OpenedAnswer } from '../dialect.ts'

export type Status = 'in_progress' | 'completed' | 'incomplete' | 'failed'

// What the response objects of one answer have in common.
export type ResponseWriter = {
  // Names the model that serves.
  served(by: ServedBy): void
  // `output` is the JSON of its items.
  json(state: ResponseState): string
}

export type ResponseState = {
  readonly status: Status
  readonly output: string
  readonly incomplete?: string | undefined
  readonly refusal?: Refusal | undefined
  readonly receipt?: Receipt | undefined
}

export function responseWriter(opened: OpenedAnswer): ResponseWriter {
  const { requestId, receivedAt, chat, explain } = opened
  const createdAt = Math.floor(receivedAt / 1000)
  // Only a translated answer needs it.
  let echo: string | undefined
  let { model } = opened
  let explained = ''
  return {
    served(by) {
      model = by.model
      if (explain) explained = routingField(by)
    },
    json({ status, output, incomplete, refusal, receipt }) {
      echo ??= echoJson(chat)
      const error = refusal === undefined ? 'null' : JSON.stringify(errorOf(refusal, requestId))
      const details = incomplete === undefined ? 'null' : JSON.stringify({ reason: incomplete })
      return (
        `{"id":"${responseId(requestId)}","object":"response","created_at":${createdAt},"status":"${status}",` +
        `"error":${error},"incomplete_details":${details},` +
        `"model":${JSON.stringify(model)},"output":${output},${echo}${usageField(receipt)}${explained}}`
      )
    },
  }
}

export function responseId(requestId: string): string {
  return `resp_${requestId}`
}

// The candidates in order, with reasons. `metadata` is the caller's own.
export function routingField({ considered }: ServedBy): string {
  return `,"routing":${JSON.stringify({ candidates: considered })}`
}

// Not known before the end.
export function usageField(receipt: Receipt | undefined): string {
  return receipt === undefined ? '' : `,"usage":${usageJson(receipt)}`
}

function usageJson({ tokens, cost }: Receipt): string {
  return (
    `{"input_tokens":${tokens.prompt},` +
    `"input_tokens_details":{"cached_tokens":${tokens.cached},"cache_write_tokens":${tokens.cacheWrite}},` +
    `"output_tokens":${tokens.completion},"output_tokens_details":{"reasoning_tokens":${tokens.reasoning}},` +
    `"total_tokens":${tokens.prompt + tokens.completion},"cost":${formatCredits(cost)}}`
  )
}

// Clients know few codes of a response's error; ours is in the metadata.
export function errorOf(refusal: Refusal, requestId: string): object {
  const { message, type, code, metadata } = errorBody(refusal, requestId).error
  const known = code === 'provider_unavailable' ? 'rate_limit_exceeded' : 'server_error'
  return { code: known, message, type, param: null, metadata: { ...metadata, code } }
}

// The caller's own identifiers, which go upstream only as hashes.
export function ownIdentifiers({ identifiers }: Chat): Record<string, string | null> {
  const { user, safety_identifier = null, prompt_cache_key = null } = identifiers
  return { ...(user === undefined ? {} : { user }), safety_identifier, prompt_cache_key }
}

function echoJson(chat: Chat): string {
  const native = chat.native ?? {}
  const { reasoning, text } = native as { reasoning?: object; text?: object }
  return JSON.stringify({
    access_programs: null,
    background: false,
    instructions: native.instructions ?? null,
    max_output_tokens: chat.maxTokens,
    max_tool_calls: null,
    metadata: native.metadata ?? {},
    parallel_tool_calls: native.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null, ...reasoning },
    service_tier: native.service_tier ?? 'default',
    store: false,
    temperature: native.temperature ?? 1,
    text: { format: { type: 'text' }, ...text },
    tool_choice: native.tool_choice ?? 'auto',
    tools: native.tools ?? [],
    top_logprobs: native.top_logprobs ?? 0,
    top_p: native.top_p ?? 1,
    truncation: native.truncation ?? 'disabled',
    ...ownIdentifiers(chat),
  }).slice(1, -1)
}
