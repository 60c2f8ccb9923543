// Calls the Responses API as a client does, and reads its events, whose numbers, names and order are checked on the way.
import assert from 'node:assert/strict'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { Gateway } from './gateway.ts'
import { type Answer, httpCall, type Loose } from './http-call.ts'

// A response with our additions, read without casts.
export type Event = Loose & { readonly type: ResponseStreamEvent['type'] }

export type ResponseOptions = {
  readonly key: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export async function respond(gateway: Gateway, body: object, options: ResponseOptions): Promise<Answer> {
  const { key, headers, signal } = options
  return httpCall(`${gateway.url}/v1/responses`, {
    body: { model: 'test/m1', input: 'Say hello', ...body },
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(signal === undefined ? {} : { signal }),
  })
}

// The events of a whole stream. Every one has its name in both lines, and the numbers have no gap.
export function eventsOf(raw: string): Event[] {
  const frames = raw
    .split('\n\n')
    .map(frame => frame.replace(/^(?:: [^\n]*\n)+/, ''))
    .filter(frame => frame !== '')
  return frames.map((frame, index) => {
    const [, name, data] = /^event: ([^\n]+)\ndata: ([^\n]+)$/.exec(frame) ?? []
    assert.ok(data !== undefined, `not an event: ${frame}`)
    const event = JSON.parse(data) as Event & { readonly sequence_number: number }
    assert.deepEqual([event.type, event.sequence_number], [name, index])
    return event
  })
}

export function typesOf(events: readonly Event[]): string[] {
  const types: string[] = []
  for (const { type } of events) if (types.at(-1) !== type) types.push(type)
  return types
}

export function textOf(events: readonly Event[]): string {
  return events
    .filter(({ type }) => type === 'response.output_text.delta')
    .map(({ delta }) => String(delta))
    .join('')
}
