// Calls of /v1/messages in tests, and the answers of a vendor that speaks it.

import type { Gateway } from './gateway.ts'
import { type Answer, httpCall } from './http-call.ts'
import { sseAnswer, type VendorAnswer } from './vendor.ts'

export type Fields = Readonly<Record<string, unknown>>
export type MessageEvent = Fields & { readonly type: string }

export async function askMessages(
  gateway: Gateway,
  key: string,
  body: Fields,
  headers: Readonly<Record<string, string>> = {},
  path = '/v1/messages',
): Promise<Answer<Fields>> {
  return httpCall<Fields>(gateway.url + path, {
    body,
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01', ...headers },
  })
}

// The events of a stream; each must be named as its data says.
export function eventsOf(raw: string): readonly MessageEvent[] {
  const events = raw.split('\n\n').filter(frame => frame !== '')
  return events.map(frame => {
    const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(frame) ?? []
    const event = JSON.parse(data ?? 'null') as MessageEvent
    if (event?.type !== name) throw new Error(`not an event of Messages: ${frame}`)
    return event
  })
}

export const MESSAGE_START: MessageEvent = {
  type: 'message_start',
  message: {
    id: 'msg_vendor',
    type: 'message',
    role: 'assistant',
    model: 'claude-vendor',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 20, cache_creation_input_tokens: 100, cache_read_input_tokens: 1000, output_tokens: 1 },
  },
}

export function textBlock(index: number, ...words: readonly string[]): readonly MessageEvent[] {
  return [
    { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
    ...words.map(text => ({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index },
  ]
}

export function messageEnd(usage: Fields, stop_reason = 'end_turn'): readonly MessageEvent[] {
  return [{ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage }, { type: 'message_stop' }]
}

export function streamOf(...events: readonly (readonly MessageEvent[])[]): VendorAnswer {
  return sseAnswer(events.flat(), true)
}
