// A scripted OpenAI-compatible provider with a journal: tests set its behaviour, and read afterwards what it received.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { readChatBody } from './chat-body.ts'
import { createServer } from './node-http.ts'
import type { JournalEntry } from './upstream-journal.ts'
import type { Plan } from './upstream-plan.ts'
import { answer } from './upstream-response.ts'
import { openWire } from './upstream-wire.ts'

const DIALECTS = ['messages', 'responses', 'embeddings'] as const

export type Behaviour = Plan | ((entry: JournalEntry) => Plan | Promise<Plan>)

// The first of these that exists decides about a request: the queue of `next`, the script of its model, the default.
export type Upstream = {
  readonly url: string
  readonly port: number
  readonly journal: JournalEntry[]
  readonly inFlight: number
  script(behaviour: Behaviour, model?: string): void
  next(...behaviours: Behaviour[]): void
  reset(): void
  received(requests: number, timeoutMs?: number): Promise<void>
  idle(timeoutMs?: number): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startUpstream(port = 0): Promise<Upstream> {
  const journal: JournalEntry[] = []
  const queue: Behaviour[] = []
  const byModel = new Map<string, Behaviour>()
  let fallback: Behaviour = {}
  let inFlight = 0
  let stopping = false

  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 60_000 }, (req, res) => {
    inFlight += 1
    res.once('close', () => {
      inFlight -= 1
    })
    serve(req, res).catch(() => res.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const entry = journalEntry(req, await readWhole(req))
    journal.push(entry)
    res.once('close', () => {
      entry.endedAt = Date.now()
      if (!res.writableFinished && entry.diedAt === undefined && !stopping) entry.closedByPeerAt = entry.endedAt
    })
    const chosen = queue.shift() ?? byModel.get(entry.model) ?? fallback
    entry.plan = typeof chosen === 'function' ? await chosen(entry) : chosen
    const { socket } = req
    const dialect = DIALECTS.find(name => entry.path.endsWith(`/${name}`))
    const chat = readChatBody(entry.body)
    const asked = dialect === undefined ? chat : { ...chat, dialect, includeUsage: true }
    await answer(entry.plan, asked, entry, openWire(entry.plan, entry, res))
    if (entry.plan.closeAfterMs !== undefined) {
      await setTimeout(entry.plan.closeAfterMs)
      socket.destroy()
    }
  }

  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    port: address.port,
    journal,
    get inFlight() {
      return inFlight
    },
    script(behaviour, model) {
      if (model === undefined) fallback = behaviour
      else byModel.set(model, behaviour)
    },
    next(...behaviours) {
      queue.push(...behaviours)
    },
    reset() {
      journal.length = 0
      queue.length = 0
      byModel.clear()
      fallback = {}
    },
    received: (requests, timeoutMs = 5000) =>
      until(
        () => journal.length >= requests,
        timeoutMs,
        () => `${requests} requests, has ${journal.length}`,
      ),
    idle: (timeoutMs = 5000) =>
      until(
        () => inFlight === 0,
        timeoutMs,
        () => `no request in flight, has ${inFlight}`,
      ),
    async [Symbol.asyncDispose]() {
      stopping = true
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function journalEntry(req: IncomingMessage, rawBody: Buffer): JournalEntry {
  const body = parseOrText(rawBody)
  const chat = readChatBody(body)
  const requestId = req.headers['x-request-id']
  return {
    method: req.method ?? '',
    path: req.url ?? '',
    headers: req.headers,
    rawBody,
    body,
    model: chat.model,
    stream: chat.stream,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    startedAt: Date.now(),
    plan: {},
    status: 0,
    tokens: { prompt: 0, completion: 0, reasoning: 0 },
    chunks: 0,
    bytes: 0,
    diedAt: undefined,
    endedAt: undefined,
    closedByPeerAt: undefined,
  }
}

async function readWhole(req: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of req) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

function parseOrText(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

async function until(holds: () => boolean, timeoutMs: number, wanted: () => string): Promise<void> {
  const deadline = Date.now() + timeoutMs
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`upstream waited ${timeoutMs} ms in vain for ${wanted()}`)
    await setTimeout(2)
  }
}
