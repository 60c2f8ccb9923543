// Parses the answers of an OpenAI-style upstream: one parse, shape check, normalisation of unusual values, detection of errors.
import { Failure } from '../../domain/failure.ts'
import { type Chunk, type ChunkChoice, FINISH_REASONS, type Whole, type WholeChoice } from '../../domain/handoff.ts'
import { storable } from '../../domain/usage.ts'
import { guardText } from '../../lib/json-guard.ts'
import { failureOfError, type Unsaid } from './error.ts'

const KNOWN_REASONS: ReadonlySet<unknown> = new Set(FINISH_REASONS)
const CHOICES_MAX = 128
// Checked before the parse, which takes seconds for deep nesting, and a third of a second for 100,000 objects of different
// shapes. Deeper nesting also exceeds the stack when it is serialised.
export const DEPTH_MAX = 1000
export const FRAME_BOUNDS = { depthMax: DEPTH_MAX, membersMax: 50_000 }

export function readChunk(data: string, unsaid: Unsaid): { readonly id: string | null; readonly chunk: Chunk } {
  const verdict = guardText(data, FRAME_BOUNDS)
  if (verdict !== 'ok') throw invalidResponse(verdict === 'too_deep' ? 'nested too deeply' : 'too many members')
  const frame = object(parse(data), unsaid)
  const choices = Array.isArray(frame.choices) ? frame.choices.slice(0, CHOICES_MAX).map(chunkChoice) : []
  return { id: idOf(frame.id), chunk: { choices, usage: frame.usage ?? undefined, fingerprint: fingerprintOf(frame) } }
}

// For a text that was checked like a frame.
export function readWhole(text: string, unsaid: Unsaid): { readonly id: string | null; readonly whole: Whole } {
  const body = object(parse(text), unsaid)
  if (!Array.isArray(body.choices) || body.choices.length === 0) throw invalidResponse('the response has no choices')
  return {
    id: idOf(body.id),
    whole: {
      choices: body.choices.slice(0, CHOICES_MAX).map(wholeChoice),
      usage: body.usage,
      fingerprint: fingerprintOf(body),
    },
  }
}

function chunkChoice(value: unknown, position: number): ChunkChoice {
  const choice = record(value) as ChunkChoice & Record<string, unknown>
  if (choice.delta === null || typeof choice.delta !== 'object' || Array.isArray(choice.delta)) choice.delta = {}
  else tidyDelta(choice.delta)
  if (choice.logprobs !== null && choice.logprobs !== undefined) {
    ;(choice as Record<string, unknown>).logprobs = logprobsOf(choice.logprobs)
  }
  ;(choice as { index: number }).index = indexOf(choice.index, position)
  choice.finish_reason = finishReason(choice.finish_reason)
  return choice
}

function wholeChoice(value: unknown, position: number): WholeChoice {
  const choice = record(value)
  const message = record(choice.message)
  dropNulls(message)
  return {
    ...choice,
    index: indexOf(choice.index, position),
    message: {
      ...message,
      role: 'assistant',
      content: wordsOf(message.content),
      refusal: typeof message.refusal === 'string' ? message.refusal : null,
    },
    logprobs: logprobsOf(choice.logprobs),
    finish_reason: finishReason(choice.finish_reason) ?? 'stop',
  }
}

function tidyDelta(delta: ChunkChoice['delta']): void {
  dropNulls(delta)
  if (delta.role !== undefined && delta.role !== 'assistant') delete delta.role
  if (delta.content !== undefined && typeof delta.content !== 'string') delta.content = wordsOf(delta.content)
}

// Some models answer in parts, of which OpenAI's clients expect only the text.
function wordsOf(content: unknown): string | null {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return null
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : '')).join('')
}

// Both of its lists are always present, if only as null.
function logprobsOf(value: unknown): object | null {
  return typeof value === 'object' && value !== null ? { content: null, refusal: null, ...value } : null
}

// Bounded, since the choices that produced content are tracked.
function indexOf(value: unknown, position: number): number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < CHOICES_MAX
    ? (value as number)
    : position
}

// `tool_calls: null` and the like: OpenAI omits such fields, and strict clients refuse them.
function dropNulls(spoken: Record<string, unknown>): void {
  for (const name in spoken) {
    if (spoken[name] === null && name !== 'content' && name !== 'refusal') delete spoken[name]
  }
}

// Reasons outside OpenAI's list mean that it ended; clients would reject the value itself.
function finishReason(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null
  return KNOWN_REASONS.has(value) ? value : 'stop'
}

export function parseObject(text: string): Record<string, unknown> {
  return record(parse(text))
}

export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw invalidResponse('not JSON')
  }
}

function object(value: unknown, unsaid: Unsaid): Record<string, unknown> {
  const found = record(value)
  if (found.error !== undefined && found.error !== null) throw failureOfError(found.error, unsaid)
  return found
}

export function record(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw invalidResponse('not an object')
}

export function invalidResponse(what: string): Failure {
  return new Failure('invalid_response', `unexpected upstream response: ${what}`, { status: 200 })
}

export function idOf(value: unknown): string | null {
  return typeof value === 'string' ? storable(value, 256) : null
}

function fingerprintOf(frame: Record<string, unknown>): string | undefined {
  return typeof frame.system_fingerprint === 'string' && frame.system_fingerprint.length <= 256
    ? frame.system_fingerprint
    : undefined
}

// A line end in JSON is a blank; in an event it would end the line.
export function oneLine(data: string): string {
  return data.includes('\n') ? data.replaceAll('\n', ' ') : data
}
