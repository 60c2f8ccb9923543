// Classifies an upstream's error by its status and message. The message reaches the caller only where the caller is at fault,
// with addresses, keys and markup removed; the log gets only its code, since a message may quote the prompt. Usage rows keep it
// for operators, without what it quotes.
import { Failure, RETRY_AFTER_SECONDS_MAX } from '../../domain/failure.ts'

export type UpstreamError = {
  readonly status: number
  readonly body: Buffer
  readonly retryAfter?: string | undefined
  // The upstream's time of the response: a Retry-After may be a date by the same clock.
  readonly date?: string | undefined
}

// What must never be shown: the provider's key and host. Pieces so short that they occur in any text are not searched for.
export type Unsaid = readonly string[]

export function failureOfStatus(error: UpstreamError, unsaid: Unsaid): Failure {
  return failureOf(error, errorFields(error.body), unsaid)
}

// An error inside a 200 response: its code is often the intended status.
export function failureOfError(error: unknown, unsaid: Unsaid): Failure {
  const fields = record(typeof error === 'string' ? { message: error } : error)
  const number = [fields.status, fields.code].map(Number).find(value => Number.isInteger(value) && isError(value))
  if (number === undefined) {
    return new Failure('status', note('an error in a 200 response', fields), {
      status: 200,
      ...wordsIn(fields, unsaid),
    })
  }
  return failureOf({ status: number, body: NO_BODY }, fields, unsaid)
}

const NO_BODY = Buffer.alloc(0)

function failureOf(error: UpstreamError, fields: Record<string, unknown>, unsaid: Unsaid): Failure {
  const { status } = error
  const why = note(`status ${status}`, fields)
  const said = { status, ...wordsIn(fields, unsaid) }
  if (status === 400 || status === 413 || status === 422) {
    return new Failure('rejected', why, { ...said, tooLong: isTooLong(fields) })
  }
  if (status === 429 || status === 503 || status === 529) {
    const wait = retryAfterSeconds(error)
    const bySize = status === 429 && isOneTooLarge(fields)
    return new Failure('limited', why, { ...said, bySize, ...(wait === undefined ? {} : { retryAfter: wait }) })
  }
  if (status === 401 || status === 403) return new Failure('credential', why, said)
  if (status === 408 || status === 504) return new Failure('timeout', why, said)
  return new Failure('status', why, said)
}

function wordsIn({ message }: Record<string, unknown>, unsaid: Unsaid): { readonly words?: string } {
  const words = typeof message === 'string' ? clean(message, unsaid) : ''
  return words === '' ? {} : { words }
}

// Few have a code for a prompt that does not fit; the others are recognised by their message.
function isTooLong({ code, type, message }: Record<string, unknown>): boolean {
  if (TOO_LONG_CODES.has(code) || TOO_LONG_CODES.has(type)) return true
  return typeof message === 'string' && TOO_LONG_WORDS.test(message.slice(0, WORDS_READ_MAX))
}

const TOO_LONG_CODES: ReadonlySet<unknown> = new Set(['context_length_exceeded', 'exceed_context_size_error'])

const TOO_LONG_WORDS = new RegExp(
  [
    'maximum (context|prompt|model) length', // OpenAI, Mistral, DeepSeek, xAI, vLLM, Fireworks, Ollama
    'prompt is too long', // Anthropic
    'exceeds? (the )?(available )?context (limit|size|window|length)', // Anthropic, llama.cpp, LM Studio
    'input token count .{0,40}exceeds', // Google
    'input is too long', // Bedrock
    'too many (input )?tokens', // Cohere, Bedrock
    'reduce the length of the (messages|prompt|input)', // OpenAI, Groq
    'tokens \\+ .max_new_tokens. must be', // Together
  ].join('|'),
  'i',
)

// OpenAI answers 429 to a request that needs more tokens than the limit per minute; waiting does not help.
function isOneTooLarge({ message }: Record<string, unknown>): boolean {
  return typeof message === 'string' && /^request too large\b/i.test(message)
}

function errorFields(body: Buffer): Record<string, unknown> {
  try {
    const parsed = record(JSON.parse(body.toString()))
    const error = typeof parsed.error === 'string' ? { message: parsed.error } : record(parsed.error)
    const message = [error.message, parsed.message, parsed.detail].find(value => typeof value === 'string')
    return { ...error, message }
  } catch {
    return {}
  }
}

// For the log. Only known codes: an upstream that echoes a prompt as its code must not bring it into the log.
const KNOWN_CODES: ReadonlySet<unknown> = new Set([
  'api_error',
  'authentication_error',
  'billing_hard_limit_reached',
  'content_filter',
  'content_policy_violation',
  'context_length_exceeded',
  'insufficient_quota',
  'internal_error',
  'invalid_api_key',
  'invalid_request_error',
  'invalid_value',
  'model_not_found',
  'not_found_error',
  'overloaded_error',
  'permission_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'server_error',
  'string_above_max_length',
  'unsupported_parameter',
  'unsupported_value',
  'upstream_error',
])

function note(what: string, { code, type }: Record<string, unknown>): string {
  const name = [code, type].find(value => KNOWN_CODES.has(value))
  return name === undefined ? what : `${what} (${String(name)})`
}

function clean(words: string, unsaid: Unsaid): string {
  let said = words.slice(0, WORDS_READ_MAX).toWellFormed()
  for (const secret of unsaid) if (secret.length >= SECRET_CHARS_MIN) said = said.replaceAll(secret, '[hidden]')
  return said
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .replace(/<[^<>]{0,200}>/g, ' ')
    .replace(/\b[a-z][a-z0-9+.-]{1,20}:\/\/\S+/gi, '[address]')
    .replace(/\b(?:sk|pk|key|svc|gsk|xai)[-_][\w*-]{6}\S*/gi, '[key]')
    .replace(/\bAIza[\w-]{6,}/g, '[key]')
    .replace(/\bya29\.[\w.-]+/g, '[key]')
    .replace(/\b(?:Bearer|Basic)\s+\S+/gi, '[key]')
    .replace(/\b(?=\w*\d)(?=\w*[a-z])\w{32,}/gi, '[key]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, WORDS_TOLD_MAX)
}

const SECRET_CHARS_MIN = 4
const WORDS_READ_MAX = 4096
const WORDS_TOLD_MAX = 400

function retryAfterSeconds({ retryAfter, date }: UpstreamError): number | undefined {
  if (retryAfter === undefined) return undefined
  const seconds = /^\d+(\.\d+)?$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.parse(date ?? '')) / 1000
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, RETRY_AFTER_SECONDS_MAX) : undefined
}

function isError(status: number): boolean {
  return status >= 400 && status < 600
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
