// Reads the answers of a provider that speaks Anthropic's Messages: each event is kept as it came, with what is metered of it in
// OpenAI's shape. Pure except for the state of one stream.
import type { Failure } from '../../domain/failure.ts'
import type { Chunk, ChunkChoice, NativeEvent, Whole } from '../../domain/handoff.ts'
import { guardText } from '../../lib/json-guard.ts'
import { failureOfError, type Unsaid } from '../openai/error.ts'
import type { FrameReader } from '../openai/readers.ts'
import { FRAME_BOUNDS, idOf, invalidResponse, oneLine, parse, record } from '../openai/response.ts'
import { messageUsage, streamUsage } from './usage.ts'

type Fields = Readonly<Record<string, unknown>>

// Throws a Failure for an error, and for events out of order.
export function messageFrames(unsaid: Unsaid): FrameReader {
  let id: string | null = null
  const usage = streamUsage()
  // The types of the blocks, by index.
  const blocks = new Map<unknown, unknown>()
  const open = new Set<unknown>()
  let started = false
  let endings = 0
  // Why it stopped is known: at most message_stop is missing.
  let finished = false
  let isLast = false

  function take(data: string): Chunk | undefined {
    const event = readEvent(data, unsaid)
    const { type } = event
    if (type === 'ping') return undefined
    if ((type === 'message_start') === started) throw outOfOrder(type)
    const native = { ...event, type, data: oneLine(data) }
    switch (type) {
      case 'message_start': {
        started = true
        const message = record(event.message)
        id = idOf(message.id)
        return chunk({ role: 'assistant' }, native, usage.start(message.usage))
      }
      case 'content_block_start': {
        if (blocks.has(event.index) || finished || blocks.size >= BLOCKS_MAX) throw outOfOrder(type)
        const block = record(event.content_block)
        blocks.set(event.index, block.type)
        open.add(event.index)
        return chunk(blockContent(block, blocks.size - 1), brief(native))
      }
      case 'content_block_delta':
        if (!open.has(event.index)) throw outOfOrder(type)
        return chunk(deltaContent(record(event.delta)), brief(native))
      case 'content_block_stop':
        if (!open.delete(event.index)) throw outOfOrder(type)
        return chunk(undefined, brief(native))
      case 'message_delta': {
        if (++endings > ENDINGS_MAX) throw outOfOrder(type)
        const { stop_reason: reason } = record(event.delta)
        if (typeof reason === 'string') finished = true
        return chunk({}, native, usage.end(event.usage), typeof reason === 'string' ? finishReason(reason) : null)
      }
      case 'message_stop':
        if (!finished) throw outOfOrder(type)
        isLast = true
        return undefined
      // A later version of the API may have more.
      default:
        return chunk(undefined, brief(native))
    }
  }

  return data => {
    const taken = take(data)
    return { id, chunk: taken, isLast }
  }
}

const BLOCKS_MAX = 4096
// One ends a message; some providers report its usage in more.
const ENDINGS_MAX = 4096

// For a text that was checked like an event.
export function readMessage(text: string, unsaid: Unsaid): { readonly id: string | null; readonly whole: Whole } {
  const message = record(parse(text))
  if (message.type === 'error') throw failureOfEvent(message, unsaid)
  if (message.type !== 'message' || !Array.isArray(message.content)) throw invalidResponse('not a message')
  const spoken = (message.content as readonly unknown[]).map((block, index) => blockContent(record(block), index))
  const { stop_reason: reason } = message
  const content = { role: 'assistant', content: null, blocks: spoken }
  return {
    id: idOf(message.id),
    whole: {
      choices: [
        { index: 0, message: content, finish_reason: typeof reason === 'string' ? finishReason(reason) : 'stop' },
      ],
      native: message,
      usage: messageUsage(message.usage),
      fingerprint: undefined,
    },
  }
}

function readEvent(data: string, unsaid: Unsaid): NativeEvent {
  if (guardText(data, FRAME_BOUNDS) !== 'ok') throw invalidResponse('nested too deeply or too many members')
  const event = record(parse(data))
  if (event.type === 'error' || (event.type === undefined && event.error !== undefined))
    throw failureOfEvent(event, unsaid)
  if (typeof event.type !== 'string' || !/^\w{1,64}$/.test(event.type))
    throw invalidResponse('not an event of Messages')
  return event as NativeEvent
}

// By the type of the error, which stands for a status.
function failureOfEvent({ error }: Fields, unsaid: Unsaid): Failure {
  const fields = typeof error === 'object' && error !== null ? (error as Fields) : { message: error }
  const status = STATUS_OF[String(fields.type)] ?? 500
  return failureOfError({ ...fields, status }, unsaid)
}

const STATUS_OF: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 403,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  timeout_error: 504,
  overloaded_error: 529,
}

// Everything that a block has when it begins, or as a whole, and that counts as output.
function blockContent(block: Fields, index: number): ChunkChoice['delta'] | undefined {
  const { type, text, thinking, data, name, input } = block
  if (type === 'text') return given('content', text)
  if (type === 'thinking') return given('reasoning_content', thinking)
  if (type === 'redacted_thinking') return given('reasoning_content', data)
  if (type === 'tool_use') {
    const isWhole = typeof input === 'object' && input !== null && Object.keys(input).length > 0
    return { tool_calls: [{ index, function: { name, arguments: isWhole ? JSON.stringify(input) : '' } }] }
  }
  const { type: _, ...others } = block
  return { block: others }
}

function deltaContent(delta: Fields): ChunkChoice['delta'] | undefined {
  const { type, text, thinking, partial_json: json } = delta
  if (type === 'text_delta') return given('content', text)
  if (type === 'thinking_delta') return given('reasoning_content', thinking)
  if (type === 'input_json_delta') return given('block', json)
  if (type === 'signature_delta' || type === 'citations_delta') return undefined
  const { type: _, ...others } = delta
  return { block: others }
}

function given(name: string, value: unknown): ChunkChoice['delta'] | undefined {
  return typeof value === 'string' && value !== '' ? { [name]: value } : undefined
}

function finishReason(reason: string): string {
  return FINISH_REASONS[reason] ?? 'stop'
}

const FINISH_REASONS: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
}

// The fields that a writer reads of an event that it passes on as text.
function brief({ type, index, data }: NativeEvent): NativeEvent {
  return { type, index, data }
}

function chunk(
  delta: ChunkChoice['delta'] | undefined,
  native: NativeEvent,
  usage: unknown = undefined,
  finish_reason: string | null = null,
): Chunk {
  const choices = delta === undefined ? [] : [{ index: 0, delta, finish_reason }]
  return { choices, native, usage, fingerprint: undefined }
}

function outOfOrder(type: string): Failure {
  return invalidResponse(`${type.slice(0, 64)} out of order`)
}
