// The load of an overload, a separate process: sends requests at a fixed rate, whatever happened to earlier ones, like many
// independent callers. Counts the answers by status.

import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

export type Offer = {
  readonly port: number
  readonly path: string
  // One connection uses one of them.
  readonly authorizations: readonly string[]
  readonly body: string
  readonly perSecond: number
  readonly seconds: number
  readonly connectionsMax: number
}

export type OfferReport = {
  readonly offered: number
  // Requests that were due while every connection was waiting for an answer.
  readonly notOffered: number
  readonly byStatus: Readonly<Record<string, number>>
  // Connections that ended with an outstanding answer.
  readonly lost: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const TICK_MS = 10
const OPENED_PER_TICK_MAX = 20
const LAST_ANSWERS_MS_MAX = 60_000

process.on('message', async message => process.send?.(await run(message as Offer)))
process.on('disconnect', () => process.exit(0))

async function run(offer: Offer): Promise<OfferReport> {
  const idle: Caller[] = []
  const byStatus: Record<string, number> = {}
  const latencies: number[] = []
  let connections = 0
  let offered = 0
  let notOffered = 0
  let waiting = 0
  let lost = 0

  const needs: CallerNeeds = {
    onIdle: caller => idle.push(caller),
    onAnswer(status, ms) {
      waiting--
      byStatus[status] = (byStatus[status] ?? 0) + 1
      latencies.push(ms)
    },
    onClose(wasWaiting) {
      connections--
      if (!wasWaiting) return
      waiting--
      lost++
    },
  }
  const start = performance.now()
  const endMs = start + offer.seconds * 1000
  for (let now = start; now < endMs; now = performance.now()) {
    const due = Math.floor(((now - start) / 1000) * offer.perSecond)
    let opened = 0
    while (offered + notOffered < due) {
      const caller = takeIdle()
      if (caller !== undefined) {
        caller.send()
        offered++
        waiting++
      } else if (connections < offer.connectionsMax && opened < OPENED_PER_TICK_MAX) {
        open(offer, connections++, needs)
        opened++
      } else if (opened > 0) break
      else notOffered++
    }
    await new Promise(resolve => setTimeout(resolve, TICK_MS))
  }
  const lastMs = performance.now() + LAST_ANSWERS_MS_MAX
  while (waiting > 0 && performance.now() < lastMs) await new Promise(resolve => setTimeout(resolve, TICK_MS))
  for (const { socket } of idle) socket.destroy()
  latencies.sort((a, b) => a - b)
  const rank = (part: number) => latencies[Math.floor((latencies.length - 1) * part)] ?? Number.NaN
  return { offered, notOffered, byStatus, lost: lost + waiting, p50Ms: rank(0.5), p99Ms: rank(0.99) }

  function takeIdle(): Caller | undefined {
    for (let caller = idle.pop(); caller !== undefined; caller = idle.pop()) if (!caller.socket.destroyed) return caller
    return undefined
  }
}

type Caller = { readonly socket: Socket; send(): void }
type CallerNeeds = {
  onIdle(caller: Caller): void
  onAnswer(status: string, ms: number): void
  onClose(wasWaiting: boolean): void
}

// Reads answers that have a Content-Length, as all JSON answers have.
function open(offer: Offer, number: number, needs: CallerNeeds): void {
  const request = requestOf(offer, offer.authorizations[number % offer.authorizations.length] ?? '')
  const socket = connect({ port: offer.port, host: '127.0.0.1', noDelay: true })
  let pending = ''
  let sentMs = 0
  let isWaiting = false
  const caller: Caller = {
    socket,
    send() {
      isWaiting = true
      sentMs = performance.now()
      socket.write(request)
    },
  }
  socket.setEncoding('latin1')
  socket.on('connect', () => needs.onIdle(caller))
  socket.on('error', () => undefined)
  socket.on('close', () => needs.onClose(isWaiting))
  socket.on('data', (text: string) => {
    pending += text
    const headEnd = pending.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = Number(/\r\ncontent-length: *(\d+)/i.exec(pending.slice(0, headEnd))?.[1] ?? 0)
    if (pending.length < headEnd + 4 + length) return
    isWaiting = false
    needs.onAnswer(statusOf(pending), performance.now() - sentMs)
    const closes = /\r\nconnection: *close/i.test(pending.slice(0, headEnd))
    pending = ''
    if (closes) socket.destroy()
    else needs.onIdle(caller)
  })
}

// With the code, where it was refused: "429 concurrency_exceeded".
function statusOf(answer: string): string {
  const status = answer.slice(9, 12)
  const code = status === '200' ? undefined : /"code":"(\w+)"/.exec(answer)?.[1]
  return code === undefined ? status : `${status} ${code}`
}

function requestOf({ path, body }: Offer, authorization: string): string {
  return [
    `POST ${path} HTTP/1.1`,
    'host: bench.local',
    'content-type: application/json',
    `authorization: ${authorization}`,
    `content-length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')
}
