// The events of a Responses stream as chunks of a chat. Events that are not known are ignored, or passed on to a caller that
// speaks this API itself.
import type { Failure } from '../../../domain/failure.ts'
import type { ChunkChoice, NativeEvent } from '../../../domain/handoff.ts'
import { storable } from '../../../domain/usage.ts'
import { guardText } from '../../../lib/json-guard.ts'
import type { Unsaid } from '../error.ts'
import { DONE, type Frame, type FrameReader, isDone } from '../readers.ts'
import { FRAME_BOUNDS, invalidResponse, oneLine, parseObject } from '../response.ts'
import { OWN_FORMAT } from './input.ts'
import { type Fields, failureOf, finishReasonOf, isRecord, text, usageOf } from './response.ts'

export function responsesFrames(unsaid: Unsaid, isPassed: boolean): FrameReader {
  const calls = callNumbers()
  // The items of which something has come piece by piece.
  const spoken = new Set<unknown>()
  const speaks = (place: unknown) => {
    if (spoken.size < ITEMS_MAX) spoken.add(place)
  }
  let hasReasoned = false

  function deltaOf(event: Fields): ChunkChoice['delta'] | undefined {
    const { delta, output_index: place } = event
    switch (event.type) {
      case 'response.output_text.delta':
        speaks(place)
        return { content: text(delta) }
      case 'response.refusal.delta':
        speaks(place)
        return { refusal: text(delta) }
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return { reasoning_content: text(delta) }
      case 'response.reasoning_summary_part.added':
        return Number(event.summary_index) > 0 ? { reasoning_content: '\n\n' } : undefined
      case 'response.output_item.added':
        return isRecord(event.item) ? calls.begin(place, event.item) : undefined
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        speaks(place)
        return calls.more(place, text(delta))
      case 'response.output_item.done':
        return isRecord(event.item) ? doneDelta(place, event.item) : undefined
      default:
        return undefined
    }
  }

  // Some providers send an item only when it is complete.
  function doneDelta(place: unknown, item: Fields): ChunkChoice['delta'] | undefined {
    if (item.type === 'reasoning') {
      hasReasoned = true
      return isPassed ? undefined : encryptedDelta(item)
    }
    if (spoken.has(place) || spoken.size >= ITEMS_MAX) return undefined
    if (item.type === 'message') {
      speaks(place)
      return wholeDelta(item)
    }
    const begun = calls.begin(place, item)
    const written = calls.more(place, text(item.arguments ?? item.input))
    return joined([begun, written])
  }

  // Others send the whole answer with the last event, and nothing before it.
  function unsentDelta({ output }: Fields): ChunkChoice['delta'] {
    if (spoken.size > 0 || calls.any() || !Array.isArray(output)) return {}
    const items = output.slice(0, ITEMS_MAX).filter(isRecord)
    const unsent = hasReasoned ? items.filter(({ type }) => type !== 'reasoning') : items
    return joined(unsent.map((item, place) => doneDelta(place, item))) ?? {}
  }

  function read(event: Fields, data: string): Pick<Frame, 'chunk' | 'isLast'> {
    const { type, response } = event
    if (type === 'error') throw failureOf(isRecord(event.error) ? event.error : event, unsaid)
    if (type === 'response.failed') throw failureOf(isRecord(response) ? response.error : undefined, unsaid)
    const native = isPassed ? { native: nativeOf(event, data) } : {}
    if (type === 'response.completed' || type === 'response.incomplete') {
      const whole = isRecord(response) ? response : {}
      const delta = unsentDelta(whole)
      const finish = choiceOf(delta, finishReasonOf(whole, calls.any()))
      return {
        chunk: { ...native, choices: [finish], usage: usageOf(whole.usage), fingerprint: undefined },
        isLast: true,
      }
    }
    const delta = deltaOf(event)
    const choices = delta === undefined ? [] : [choiceOf(delta, null, logprobsOf(event))]
    return { chunk: { ...native, choices, usage: undefined, fingerprint: undefined } }
  }

  return data => {
    if (isDone(data)) return DONE
    const verdict = guardText(data, FRAME_BOUNDS)
    if (verdict !== 'ok') throw invalidResponse(verdict === 'too_deep' ? 'nested too deeply' : 'too many members')
    const event = parseObject(data)
    if (typeof event.type !== 'string') throw untyped(event, unsaid)
    const id = isRecord(event.response) && typeof event.response.id === 'string' ? event.response.id : null
    return { id: id === null ? null : storable(id, 256), ...read(event, data) }
  }
}

// The event as text, and the fields that a writer reads of it.
function nativeOf({ type, sequence_number, response, item }: Fields, data: string): NativeEvent {
  return { type: type as string, sequence_number, response, item, data: oneLine(data) }
}

// An answer of another API, or an error without a type.
function untyped(event: Fields, unsaid: Unsaid): Failure {
  return isRecord(event.error) ? failureOf(event.error, unsaid) : invalidResponse('an event without a type')
}

// The calls of a chat are numbered from 0.
function callNumbers() {
  const known = new Map<unknown, { readonly index: number; readonly isCustom: boolean }>()
  return {
    any: () => known.size > 0,
    begin(place: unknown, item: Fields): ChunkChoice['delta'] | undefined {
      const isCustom = item.type === 'custom_tool_call'
      if ((!isCustom && item.type !== 'function_call') || known.has(place) || known.size >= ITEMS_MAX) return undefined
      const index = known.size
      known.set(place, { index, isCustom })
      const name = text(item.name)
      const called = isCustom ? { custom: { name, input: '' } } : { function: { name, arguments: '' } }
      const id = text(item.call_id ?? item.id)
      return { tool_calls: [{ index, id, type: isCustom ? 'custom' : 'function', ...called }] }
    },
    more(place: unknown, piece: string): ChunkChoice['delta'] | undefined {
      const call = known.get(place)
      if (call === undefined || piece === '') return undefined
      const { index, isCustom } = call
      return {
        tool_calls: [{ index, ...(isCustom ? { custom: { input: piece } } : { function: { arguments: piece } }) }],
      }
    },
  }
}

// More than any answer has; an upstream must not fill the memory.
const ITEMS_MAX = 1024

// Texts and lists of the same name become one.
function joined(deltas: readonly (ChunkChoice['delta'] | undefined)[]): ChunkChoice['delta'] | undefined {
  let whole: ChunkChoice['delta'] | undefined
  for (const delta of deltas) {
    for (const [name, value] of Object.entries(delta ?? {})) {
      whole ??= {}
      if (Array.isArray(value)) {
        whole[name] ??= []
        ;(whole[name] as unknown[]).push(...value)
      } else whole[name] = text(whole[name]) + text(value)
    }
  }
  return whole
}

function wholeDelta({ content }: Fields): ChunkChoice['delta'] {
  const parts = (Array.isArray(content) ? content : []).filter(isRecord)
  const refusal = parts.map(part => text(part.refusal)).join('')
  const words = parts.map(part => text(part.text)).join('')
  return { content: words, ...(refusal === '' ? {} : { refusal }) }
}

// For the caller to send back.
function encryptedDelta({ id, encrypted_content: data }: Fields): ChunkChoice['delta'] | undefined {
  if (typeof data !== 'string' || data === '') return undefined
  const named = typeof id === 'string' ? { id } : {}
  return { reasoning_details: [{ type: 'reasoning.encrypted', format: OWN_FORMAT, ...named, data }] }
}

function choiceOf(delta: ChunkChoice['delta'], finish_reason: string | null, logprobs: unknown = null): ChunkChoice {
  return { index: 0, delta, logprobs, finish_reason }
}

function logprobsOf({ logprobs }: Fields): object | null {
  return Array.isArray(logprobs) && logprobs.length > 0 ? { content: logprobs, refusal: null } : null
}
