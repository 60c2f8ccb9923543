// One HTTP call on node:http with the whole answer in memory: unlike fetch it keeps trailers and duplicate headers.
import { once } from 'node:events'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { Agent, request } from './node-http.ts'
import { parseSse, type SseBody } from './sse.ts'

// JSON of unknown shape that reads without casts: `answer.body.error?.code`.
export type Loose = { readonly [key: string]: Loose | undefined }

export type Answer<Body = Loose> = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly trailers: NodeJS.Dict<string>
  readonly text: string
  // Throw if the answer is not JSON, or not an event stream.
  readonly body: Body
  readonly sse: SseBody
}

export type HttpCall = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  // A string or buffer is sent unchanged, anything else as JSON.
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY })

export async function httpCall<Body = Loose>(url: string, call: HttpCall = {}): Promise<Answer<Body>> {
  const timeout = AbortSignal.timeout(call.timeoutMs ?? 30_000)
  const signal = call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal])
  const payload = payloadOf(call.body)
  const length = payload === undefined ? {} : { 'content-length': String(Buffer.byteLength(payload)) }
  const type = payload === undefined ? {} : { 'content-type': 'application/json' }
  const method = call.method ?? (payload === undefined ? 'GET' : 'POST')

  const outgoing = request(url, { method, agent, signal, headers: { ...type, ...length, ...call.headers } })
  outgoing.end(payload)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const text = await readText(incoming)
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    trailers: incoming.trailers,
    text,
    get body() {
      return JSON.parse(text) as Body
    },
    get sse() {
      return parseSse(text)
    },
  }
}

async function readText(incoming: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString('utf8')
}

function payloadOf(body: unknown): string | Buffer | undefined {
  if (body === undefined || typeof body === 'string' || Buffer.isBuffer(body)) return body
  return JSON.stringify(body)
}
