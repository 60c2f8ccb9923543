// OpenAI's Responses API as a stream: numbered events, passed through or made from the chunks of a chat, with a terminal event
// that waits for the settlement.
import type { Chunk, NativeEvent, Receipt } from '../../domain/handoff.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { OpenedAnswer, StreamWriter } from '../dialect.ts'
import { isRecord } from './carried-reasoning.ts'
import { type ItemEvents, itemEvents } from './item-events.ts'
import { carriesReasoning } from './json.ts'
import { brokenResponse, nativeWriter, TERMINAL } from './native.ts'
import { type Numbering, numbering } from './numbering.ts'
import { incompleteReason } from './output.ts'
import { type ResponseWriter, responseWriter } from './response.ts'
import { namesOf } from './tools.ts'

export function responsesStream(opened: OpenedAnswer): StreamWriter {
  const numbers = numbering()
  const translated = translatedStream(opened, numbers)
  const passed = passedStream(opened, numbers)
  return {
    served(by) {
      translated.served(by)
      passed.served(by)
    },
    chunks(chunks) {
      let text = ''
      for (const chunk of chunks)
        text += chunk.native === undefined ? translated.chunk(chunk) : passed.event(chunk.native)
      return text
    },
    // A comment.
    keepAlive: ': keep-alive\n',
    completed: receipt => (passed.hasBegun() ? passed.completed(receipt) : translated.completed(receipt)),
    failed(refusal, receipt) {
      return passed.hasBegun() ? passed.failed(refusal, receipt) : translated.failed(refusal, receipt)
    },
  }
}

function translatedStream(opened: OpenedAnswer, { write: number }: Numbering) {
  const { requestId, chat } = opened
  const response: ResponseWriter = responseWriter(opened)
  let items: ItemEvents | undefined
  let finishReason: string | null = null

  const writing = (): ItemEvents => {
    items ??= itemEvents({ requestId, names: namesOf(chat), carries: carriesReasoning(chat), number })
    return items
  }

  function begin(): string {
    if (items !== undefined) return ''
    writing()
    const begun = response.json({ status: 'in_progress', output: '[]' })
    return number('response.created', `"response":${begun}`) + number('response.in_progress', `"response":${begun}`)
  }

  return {
    served: response.served,
    chunk({ choices }: Chunk): string {
      let text = ''
      for (const choice of choices) {
        // A response has one answer.
        if (choice.index !== 0) continue
        text += begin() + writing().delta(choice.delta, choice.logprobs)
        if (choice.finish_reason === null) continue
        finishReason = choice.finish_reason
        text += writing().end(incompleteReason(finishReason) === undefined ? 'completed' : 'incomplete')
      }
      return text
    },
    completed(receipt: Receipt): string {
      const incomplete = incompleteReason(finishReason)
      const status = incomplete === undefined ? 'completed' : 'incomplete'
      const before = begin() + writing().end(status)
      const written = response.json({ status, output: writing().output(), incomplete, receipt })
      return before + number(`response.${status}`, `"response":${written}`)
    },
    failed(refusal: Refusal, receipt: Receipt | undefined): string {
      const before = begin() + writing().end('incomplete')
      const written = response.json({ status: 'failed', output: writing().output(), refusal, receipt })
      return before + number('response.failed', `"response":${written}`)
    },
  }
}

function passedStream(opened: OpenedAnswer, { write: number, pass }: Numbering) {
  const writer = nativeWriter(opened)
  let begun: Readonly<Record<string, unknown>> | undefined
  const done: unknown[] = []
  let last: { readonly type: string; readonly response: string } | undefined

  return {
    served: writer.served,
    hasBegun: () => begun !== undefined,
    event({ type, sequence_number: sequence, data, ...event }: NativeEvent): string {
      begun ??= {}
      // Nothing follows the last event, and a type is a line of its own.
      if (last !== undefined || !EVENT_TYPE.test(type)) return ''
      if (!isRecord(event.response)) {
        if (type === 'response.output_item.done' && done.length < ITEMS_KEPT_MAX) done.push(event.item)
        return pass(type, sequence, data as string)
      }
      const response = writer.open(event.response)
      if (TERMINAL.has(type)) {
        last = { type, response }
        return ''
      }
      begun = event.response
      return number(type, `"response":${writer.close(response, undefined)}`)
    },
    completed(receipt: Receipt): string {
      const { type, response } = last ?? {
        type: 'response.completed',
        response: writer.open({ ...begun, output: done, status: 'completed' }),
      }
      return number(type, `"response":${writer.close(response, receipt)}`)
    },
    failed(refusal: Refusal, receipt: Receipt | undefined): string {
      const response = writer.open(brokenResponse(begun ?? {}, done, refusal, opened.requestId))
      return number('response.failed', `"response":${writer.close(response, receipt)}`)
    },
  }
}

const EVENT_TYPE = /^[\w.-]{1,128}$/
// For a response that breaks off.
const ITEMS_KEPT_MAX = 256
