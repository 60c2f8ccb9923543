// A Messages answer as events in Anthropic's order: message_start, the content blocks one after another, message_delta,
// message_stop. The last two wait for the settlement.
import type { Chunk, NativeEvent, Receipt } from '../../domain/handoff.ts'
import type { ServedBy } from '../../relay/sink.ts'
import { metadataJson } from '../chat/json.ts'
import type { OpenedAnswer, StreamWriter } from '../dialect.ts'
import { type BlockWriter, blockWriter } from './blocks.ts'
import { messagesError } from './errors.ts'
import { messageId, NO_DETAILS, NO_USAGE, usageJson } from './json.ts'

export function messagesStream(opened: OpenedAnswer): StreamWriter {
  const writing: Writing = {
    opened,
    model: opened.model,
    by: undefined,
    started: false,
    blocks: blockWriter(opened),
    open: new Set(),
    ending: undefined,
    usage: undefined,
  }
  return {
    served(by) {
      writing.by = by
      writing.model = by.model
    },
    chunks(chunks) {
      let text = ''
      for (const chunk of chunks)
        text += chunk.native === undefined ? translated(writing, chunk) : passed(writing, chunk.native)
      return text
    },
    keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
    completed: receipt => start(writing) + closeBlocks(writing) + end(writing, receipt),
    failed(refusal, receipt) {
      const body = JSON.stringify(messagesError(refusal, opened.requestId)).slice(0, -1)
      const usage = receipt === undefined ? '' : `,"usage":${usageJson(receipt, writing.usage)}`
      return `event: error\ndata: ${body}${usage}}\n\n`
    },
  }
}

type Writing = {
  readonly opened: OpenedAnswer
  model: string
  by: ServedBy | undefined
  started: boolean
  readonly blocks: BlockWriter
  // The blocks of a native stream that have begun and not ended.
  readonly open: Set<unknown>
  // The provider's own message_delta, without usage.
  ending: Record<string, unknown> | undefined
  usage: object | undefined
}

function translated(writing: Writing, chunk: Chunk): string {
  const choice = chunk.choices.find(({ index }) => index === 0)
  if (choice === undefined) return ''
  const text = writing.blocks.take(choice)
  return text === '' ? '' : start(writing) + text
}

// The counts are known at the end.
function start(writing: Writing, message: Readonly<Record<string, unknown>> = EMPTY): string {
  if (writing.started) return ''
  writing.started = true
  const { opened, by } = writing
  const { usage = NO_USAGE, id: _, model: __, ...others } = message
  const metadata = opened.explain && by !== undefined ? `,${metadataJson(by)}` : ''
  const head = `"id":${JSON.stringify(messageId(opened.requestId))},"model":${JSON.stringify(writing.model)}`
  const rest = JSON.stringify(others).slice(1, -1)
  return event(
    'message_start',
    `{"type":"message_start","message":{${head},${rest},"usage":${JSON.stringify(usage)}${metadata}}}`,
  )
}

const NO_STOP = { stop_reason: null, stop_sequence: null, ...NO_DETAILS }
const EMPTY = { type: 'message', role: 'assistant', content: [], ...NO_STOP, diagnostics: null }

// An event of a provider that speaks the dialect: unchanged, except for the first and the last.
function passed(writing: Writing, native: NativeEvent): string {
  const { type, data } = native
  if (type === 'message_start') {
    const { usage } = native.message as { readonly usage?: unknown }
    writing.usage = typeof usage === 'object' && usage !== null ? { ...usage } : undefined
    return start(writing, native.message as Readonly<Record<string, unknown>>)
  }
  if (type === 'message_delta') {
    const { usage, type: _, data: __, ...ending } = native
    // Some repeat it, without the reason. In place: an upstream may send thousands.
    writing.ending ??= {}
    const delta = Object.assign(writing.ending.delta ?? {}, said(ending.delta))
    Object.assign(writing.ending, ending, { delta })
    writing.usage = Object.assign(writing.usage ?? {}, usage)
    return ''
  }
  if (type === 'content_block_start') writing.open.add(native.index)
  if (type === 'content_block_stop') writing.open.delete(native.index)
  return event(type, data as string)
}

function said(delta: unknown): object {
  return Object.fromEntries(Object.entries((delta ?? {}) as object).filter(([, value]) => value !== null))
}

function closeBlocks({ blocks, open }: Writing): string {
  let text = blocks.close()
  for (const index of open) text += event('content_block_stop', JSON.stringify({ type: 'content_block_stop', index }))
  open.clear()
  return text
}

function end({ ending, blocks, usage }: Writing, receipt: Receipt): string {
  const fields =
    ending === undefined
      ? { delta: { ...NO_DETAILS, ...blocks.stop() } }
      : { ...ending, delta: { ...NO_STOP, ...(ending.delta as object) } }
  const body = `{"type":"message_delta",${JSON.stringify(fields).slice(1, -1)},"usage":${usageJson(receipt, usage)}}`
  return event('message_delta', body) + event('message_stop', '{"type":"message_stop"}')
}

function event(type: string, data: string): string {
  return `event: ${type}\ndata: ${data}\n\n`
}
