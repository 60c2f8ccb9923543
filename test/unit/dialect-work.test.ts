// What a hostile caller or a strange upstream can make of a few megabytes in the dialects is linear work.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OpenedAnswer } from '../../src/dialects/dialect.ts'
import { parseMessages } from '../../src/dialects/messages/parse.ts'
import { messagesStream } from '../../src/dialects/messages/stream.ts'
import { parseResponses } from '../../src/dialects/responses/parse.ts'
import { responsesStream } from '../../src/dialects/responses/stream.ts'
import type { ChunkChoice, NativeEvent } from '../../src/domain/handoff.ts'
import { Refusal } from '../../src/domain/refusal.ts'

// Each takes tens of milliseconds, and took seconds or minutes.
const CPU_MS_MAX = 1_000

test('members inside carried reasoning count for the whole request', () => {
  const details = { message: { reasoning_details: Array(1_000).fill(0) } }
  const content = `turnpike.1.${Buffer.from(JSON.stringify(details)).toString('base64url')}`
  const reasoning = Array.from({ length: 1_500 }, () => ({
    type: 'reasoning',
    summary: [],
    encrypted_content: content,
  }))
  const input = [...reasoning, { role: 'assistant', content: 'x' }, { role: 'user', content: 'x' }]

  const cpuMs = cpuMsOf(() => parseResponses({ model: 'm', input }))

  assert.ok(cpuMs < CPU_MS_MAX, `${cpuMs} ms`)
})

test('a namespace is allowed once, however often it is named', () => {
  const tools = Array.from({ length: 500 }, (_, i) => ({ type: 'function', name: `t${i}` }))
  const allowed = Array(20_000).fill({ type: 'namespace', name: 'n' })
  const body = {
    model: 'm',
    input: 'x',
    tools: [{ type: 'namespace', name: 'n', tools }],
    tool_choice: { type: 'allowed_tools', tools: allowed },
  }

  const cpuMs = cpuMsOf(() => parseResponses(body))

  assert.ok(cpuMs < CPU_MS_MAX, `${cpuMs} ms`)
})

test('arguments that grow between words are looked at once, however they end', () => {
  const numbers = '1,'.repeat(2 ** 18)
  for (const [start, piece] of [
    [`{"a":[${numbers}`, '1,'],
    [`{"a":[${numbers}1] x}`, ' '],
    [`{"a":[${numbers}1] x}`, '{}'],
  ] as const) {
    const chat = parseResponses({ model: 'm', input: 'x', stream: true })
    const writer = responsesStream({ requestId: 'r', receivedAt: 0, chat, model: 'm', explain: false })
    const call = (written: string) => ({ tool_calls: [{ index: 0, function: { name: 'f', arguments: written } }] })
    const deltas: ChunkChoice['delta'][] = [call(start)]
    for (let i = 0; i < 1_000; i++) deltas.push(call(piece), { reasoning_content: 'a' }, { content: 'b' })

    const cpuMs = cpuMsOf(() => {
      for (const delta of deltas)
        writer.chunks([
          { choices: [{ index: 0, delta, finish_reason: null }], usage: undefined, fingerprint: undefined },
        ])
    })

    assert.ok(cpuMs < CPU_MS_MAX, `${JSON.stringify(piece)}: ${cpuMs} ms`)
  }
})

test('the arguments of an open call are read again only after they have grown', () => {
  const chat = parseResponses({ model: 'm', input: 'x', stream: true })
  const opened: OpenedAnswer = { requestId: 'r', receivedAt: 0, chat, model: 'm', explain: false }
  const writer = responsesStream(opened)
  const call = (index: number, written: string) => ({ tool_calls: [{ index, function: { arguments: written } }] })
  const deltas: ChunkChoice['delta'][] = [call(0, `{"a":"${'x'.repeat(2 ** 20)}`)]
  for (let i = 0; i < 1_000; i++) deltas.push({ reasoning_content: 'a' }, { content: 'b' })
  for (let i = 1; i < 5_000; i++) deltas.push(call(i, '{'))

  const cpuMs = cpuMsOf(() => {
    for (const delta of deltas)
      writer.chunks([{ choices: [{ index: 0, delta, finish_reason: null }], usage: undefined, fingerprint: undefined }])
  })

  assert.ok(cpuMs < CPU_MS_MAX, `${cpuMs} ms`)
})

test('thousands of message_delta with fields of their own are gathered one by one', () => {
  const chat = parseMessages({ model: 'm', max_tokens: 8, messages: [{ role: 'user', content: 'x' }] }, {})
  const writer = messagesStream({ requestId: 'r', receivedAt: 0, chat, model: 'm', explain: false })
  const endings = Array.from({ length: 4_000 }, (_, i) => ({
    type: 'message_delta',
    [`a${i}`]: 1,
    delta: { [`b${i}`]: 1 },
    usage: { [`c${i}`]: 1 },
  }))
  const chunk = (native: NativeEvent) => ({ choices: [], native, usage: undefined, fingerprint: undefined })

  const cpuMs = cpuMsOf(() => writer.chunks(endings.map(chunk)))

  assert.ok(cpuMs < CPU_MS_MAX, `${cpuMs} ms`)
})

// A refusal is as good as a result.
function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage()
  try {
    work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
  }
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}
