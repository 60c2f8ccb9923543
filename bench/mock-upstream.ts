// The upstream that every contestant is measured against: the minimal HTTP that answers a chat, on bare sockets with prepared
// bytes, so that it is never the bottleneck.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { JSON_ANSWERS, STREAMS } from './dialect-answers.ts'

const FRAMES_PER_STREAM = 50
const { values: options } = parseArgs({
  options: { paced: { type: 'boolean', default: false }, 'pace-ms': { type: 'string' } },
})
const paceMs = Number(options['pace-ms'] ?? (options.paced ? 1 : 0))

const jsonAnswer = completion()
const otherAnswers = new Map<string, Prepared>(
  (['messages', 'responses', 'embeddings'] as const).map(dialect => [
    `/v1/${dialect}`,
    { json: jsonBytes(JSON_ANSWERS[dialect]), stream: inChunks(STREAMS[dialect].map(eventText)) },
  ]),
)
const plainStream = stream(false)
const streamWithUsage = stream(true)

const server = createServer({ noDelay: true }, serve)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.({ port: (server.address() as AddressInfo).port })
process.on('disconnect', () => process.exit(0))

function serve(socket: Socket): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (bytes: Buffer) => {
    pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
    const headEnd = pending.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = pending.toString('latin1', 0, headEnd)
    const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? -1)
    const path = /^POST (\/v1\/[a-z/]+)[ ?]/.exec(head)?.[1] ?? ''
    const other = otherAnswers.get(path)
    if (length < 0 || (other === undefined && path !== '/v1/chat/completions')) {
      socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
      return
    }
    const end = headEnd + 4 + length
    if (pending.length < end) return
    const body = pending.toString('latin1', headEnd + 4, end)
    pending = pending.subarray(end)
    answer(socket, body, other)
  })
}

type Prepared = { readonly json: Buffer; readonly stream: readonly Buffer[] }

function answer(socket: Socket, body: string, other: Prepared | undefined): void {
  if (!/"stream": *true/.test(body)) {
    socket.write(other?.json ?? jsonAnswer)
    return
  }
  const writes = other?.stream ?? (/"include_usage": *true/.test(body) ? streamWithUsage : plainStream)
  if (paceMs > 0) writePaced(socket, writes, 0)
  // Unpaced: one write per frame, all in one tick. The kernel decides what the contestant reads together.
  else for (const bytes of writes) socket.write(bytes)
}

function writePaced(socket: Socket, writes: readonly Buffer[], at: number): void {
  const bytes = writes[at]
  if (bytes === undefined || socket.destroyed) return
  socket.write(bytes)
  setTimeout(writePaced, paceMs, socket, writes, at + 1)
}

function completion(): Buffer {
  return jsonBytes({
    id: 'chatcmpl-bench',
    object: 'chat.completion',
    created: 1750000000,
    model: 'bench',
    system_fingerprint: 'fp_bench',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'A short answer, of the length of one sentence.', refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 24, completion_tokens: 10, total_tokens: 34, prompt_tokens_details: { cached_tokens: 0 } },
  })
}

function jsonBytes(answer: object): Buffer {
  const body = JSON.stringify(answer)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
}

// Like OpenAI: with usage requested, every frame except the usage frame has `usage: null`.
function stream(withUsage: boolean): readonly Buffer[] {
  const frames = Array.from({ length: FRAMES_PER_STREAM }, (_, i) => frame(choice(i), withUsage ? null : undefined))
  const usage = { prompt_tokens: 24, completion_tokens: FRAMES_PER_STREAM - 2, total_tokens: 22 + FRAMES_PER_STREAM }
  if (withUsage) frames.push(frame([], usage))
  frames.push('data: [DONE]\n\n')
  return inChunks(frames)
}

function eventText(event: object): string {
  return `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`
}

// One write per frame; the head comes with the first.
function inChunks(frames: readonly string[]): readonly Buffer[] {
  if (frames.length === 0) return []
  const writes = frames.map(text => `${text.length.toString(16)}\r\n${text}\r\n`)
  writes[0] = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n${writes[0]}`
  writes[writes.length - 1] += '0\r\n\r\n'
  return writes.map(text => Buffer.from(text))
}

function choice(i: number): readonly object[] {
  const last = i === FRAMES_PER_STREAM - 1
  const delta = i === 0 ? { role: 'assistant', content: '' } : last ? {} : { content: ` word${i}` }
  return [{ index: 0, delta, logprobs: null, finish_reason: last ? 'stop' : null }]
}

function frame(choices: readonly object[], usage: object | null | undefined): string {
  const chunk = {
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: 1750000000,
    model: 'bench',
    system_fingerprint: 'fp_bench',
    choices,
    usage,
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
