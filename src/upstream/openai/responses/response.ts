// A whole answer of a Responses API as the message of a chat, and what its events have in common with it: usage, the reason why
// it ended, and errors.
import type { Failure } from '../../../domain/failure.ts'
import type { Whole } from '../../../domain/handoff.ts'
import { storable } from '../../../domain/usage.ts'
import { failureOfError, type Unsaid } from '../error.ts'
import { invalidResponse, parseObject } from '../response.ts'
import { OWN_FORMAT } from './input.ts'

export type Fields = Readonly<Record<string, unknown>>

// For a text that was checked like a frame.
export function readResponse(
  body: string,
  unsaid: Unsaid,
  isPassed: boolean,
): { readonly id: string | null; readonly whole: Whole } {
  const response = parseObject(body)
  if (response.status === 'failed' || isRecord(response.error)) throw failureOf(response.error, unsaid)
  const { output } = response
  if (!Array.isArray(output)) throw invalidResponse('the response has no output')
  if (response.status !== 'completed' && response.status !== 'incomplete' && response.status !== undefined)
    throw invalidResponse('the response is not complete')
  const items = output.filter(isRecord)
  const calls = items.flatMap(callOf)
  const choice = {
    index: 0,
    message: messageOf(items, calls, isPassed),
    logprobs: logprobsOf(items),
    finish_reason: finishReasonOf(response, calls.length > 0),
  }
  return {
    id: typeof response.id === 'string' ? storable(response.id, 256) : null,
    whole: {
      choices: [choice],
      ...(isPassed ? { native: response } : {}),
      usage: usageOf(response.usage),
      fingerprint: undefined,
    },
  }
}

function messageOf(items: readonly Fields[], calls: readonly Fields[], isPassed: boolean) {
  const parts = items.filter(({ type }) => type === 'message').flatMap(({ content }) => recordsOf(content))
  const words = parts.flatMap(({ type, text: said }) => (type === 'output_text' ? [text(said)] : []))
  const refusals = parts.flatMap(({ type, refusal }) => (type === 'refusal' ? [text(refusal)] : []))
  const thoughts = items.filter(({ type }) => type === 'reasoning')
  const reasoning = thoughts.map(reasoningText).filter(thought => thought !== '')
  const details = isPassed ? [] : thoughts.flatMap(detailOf)
  return {
    role: 'assistant',
    content: words.length === 0 ? null : words.join(''),
    refusal: refusals.length === 0 ? null : refusals.join(''),
    ...(reasoning.length === 0 ? {} : { reasoning_content: reasoning.join('\n\n') }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function reasoningText({ summary, content }: Fields): string {
  const parts = recordsOf(summary).length > 0 ? recordsOf(summary) : recordsOf(content)
  return parts.map(part => text(part.text)).join('\n\n')
}

function detailOf({ id, encrypted_content: data }: Fields): readonly Fields[] {
  if (typeof data !== 'string' || data === '') return []
  return [{ type: 'reasoning.encrypted', format: OWN_FORMAT, ...(typeof id === 'string' ? { id } : {}), data }]
}

function callOf({ type, id, call_id, name, arguments: given, input }: Fields): readonly Fields[] {
  const callId = text(call_id ?? id)
  if (type === 'function_call')
    return [{ id: callId, type: 'function', function: { name: text(name), arguments: text(given) } }]
  if (type === 'custom_tool_call')
    return [{ id: callId, type: 'custom', custom: { name: text(name), input: text(input) } }]
  return []
}

function logprobsOf(items: readonly Fields[]): object | null {
  const all = items.flatMap(({ content }) => recordsOf(content).flatMap(part => recordsOf(part.logprobs)))
  return all.length === 0 ? null : { content: all, refusal: null }
}

export function finishReasonOf({ status, incomplete_details: details }: Fields, hasCalls: boolean): string {
  const reason = isRecord(details) ? details.reason : undefined
  if (reason === 'content_filter') return 'content_filter'
  if (reason === 'max_output_tokens' || status === 'incomplete') return 'length'
  return hasCalls ? 'tool_calls' : 'stop'
}

// In a chat's names. Both count cached tokens as input, and reasoning as output.
export function usageOf(usage: unknown): unknown {
  if (!isRecord(usage)) return undefined
  const { input_tokens_details: input, output_tokens_details: output } = usage
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    ...(isRecord(input) ? { prompt_tokens_details: input } : {}),
    ...(isRecord(output) ? { completion_tokens_details: output } : {}),
  }
}

// The errors of this API have codes without a status.
export function failureOf(error: unknown, unsaid: Unsaid): Failure {
  const fields = isRecord(error) ? error : {}
  const status = STATUSES.get(fields.code) ?? STATUSES.get(fields.type) ?? inputStatus(fields.code)
  return failureOfError(status === undefined ? fields : { ...fields, status }, unsaid)
}

const STATUSES: ReadonlyMap<unknown, number> = new Map([
  ['rate_limit_exceeded', 429],
  ['insufficient_quota', 429],
  ['server_error', 500],
  ['server_is_overloaded', 503],
  ['slow_down', 503],
  ['invalid_prompt', 400],
  ['bio_policy', 400],
  ['context_length_exceeded', 400],
  ['invalid_request_error', 400],
])

// Images that the provider cannot read.
function inputStatus(code: unknown): number | undefined {
  return typeof code === 'string' && /^(?:invalid|image|empty|unsupported|failed_to_download)_/.test(code)
    ? 400
    : undefined
}

function recordsOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
