// The load generator, a separate process: keeps a number of connections busy with one request each and reports how long the
// answers took and whether any was incomplete.

import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'
import { answerReader, type Dialect, type Form } from './answer-reader.ts'
import { tenantSecret } from './tenant-keys.ts'

export type Load = {
  // The connections are spread among them.
  readonly ports: readonly number[]
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly form: Form
  readonly dialect: Dialect
  readonly connections: number
  readonly requests: number
  // Each request has the key of one of them instead of the first one's: at random, or one after the other.
  readonly tenants?: number | undefined
  readonly inTurn?: boolean | undefined
}

export type LoadReport = {
  readonly completed: number
  readonly failures: number
  readonly firstFailure: string | undefined
  readonly seconds: number
  readonly p50Us: number
  readonly p99Us: number
}

const RUN_SECONDS_MAX = 300

process.on('message', async message => {
  process.send?.(await run(message as Load))
})
process.on('disconnect', () => process.exit(0))

function run(load: Load): Promise<LoadReport> {
  const { promise, resolve } = Promise.withResolvers<LoadReport>()
  const nextRequest = requestsOf(load)
  const latencies = new Float64Array(load.requests)
  const sockets = Array.from({ length: load.connections }, (_, i) => open(load.ports[i % load.ports.length] ?? 0))
  const deadline = setTimeout(() => finish(`not done after ${RUN_SECONDS_MAX} s`), RUN_SECONDS_MAX * 1000)
  const startedAt = performance.now()
  let sent = 0
  let completed = 0
  let failures = 0
  let firstFailure: string | undefined
  let openCount = load.connections
  return promise

  function open(port: number) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let sentAt = 0
    let waiting = false
    const read = answerReader(load.form, load.dialect, fault => {
      waiting = false
      if (fault === undefined) latencies[completed++] = performance.now() - sentAt
      else fail(fault)
      next()
    })
    socket.on('connect', next)
    socket.on('data', read)
    socket.on('error', error => fail(String(error)))
    socket.on('close', () => {
      if (waiting) fail('the connection closed before the answer was whole')
      openCount--
      if (openCount === 0) finish()
    })
    return socket

    function next(): void {
      if (sent === load.requests) {
        socket.end()
        return
      }
      sent++
      waiting = true
      sentAt = performance.now()
      socket.write(nextRequest())
    }
  }

  function fail(reason: string): void {
    failures++
    firstFailure ??= reason
  }

  function finish(reason?: string): void {
    clearTimeout(deadline)
    if (reason !== undefined) fail(reason)
    else if (completed + failures < load.requests) fail(`only ${completed} of ${load.requests} requests were answered`)
    const seconds = (performance.now() - startedAt) / 1000
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
    const sorted = latencies.subarray(0, completed).sort()
    resolve({ completed, failures, firstFailure, seconds, p50Us: rank(sorted, 0.5), p99Us: rank(sorted, 0.99) })
  }
}

function requestsOf(load: Load): () => Buffer {
  const bytes = requestBytes(load)
  const { tenants, inTurn } = load
  if (tenants === undefined) return () => bytes
  const at = bytes.indexOf(tenantSecret(0))
  let count = 0
  return () => {
    const tenant = inTurn ? count++ % tenants : Math.floor(Math.random() * tenants)
    // A copy, since the previous one may not have been sent yet.
    const request = Buffer.from(bytes)
    request.write(tenantSecret(tenant), at, 'latin1')
    return request
  }
}

function requestBytes(load: Load): Buffer {
  const body = JSON.stringify(bodyOf(load))
  const headers = { host: 'bench.local', 'content-type': 'application/json', ...load.headers }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(
    `POST ${load.path} HTTP/1.1\r\n${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

const SYSTEM = 'You are a patient assistant that answers in one sentence.'
const QUESTION = 'What does a gateway do all day, and how would anybody notice that it is there?'

function bodyOf({ dialect, form }: Load): object {
  if (dialect === 'embeddings') return { model: 'bench', input: QUESTION, encoding_format: 'base64' }
  const common = { model: 'bench', temperature: 0.7, stream: form === 'stream' }
  const user = { role: 'user', content: QUESTION }
  if (dialect === 'messages') return { ...common, max_tokens: 1024, system: SYSTEM, messages: [user] }
  if (dialect === 'responses') return { ...common, instructions: SYSTEM, input: [user] }
  return { ...common, messages: [{ role: 'system', content: SYSTEM }, user] }
}

function rank(sorted: Float64Array, quantile: number): number {
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))
  return (sorted[at] ?? Number.NaN) * 1000
}
