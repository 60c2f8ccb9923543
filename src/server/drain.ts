// Graceful shutdown: ready reports 503 at once, requests are still served for a while, then the listener closes, open requests
// get their time, and the remaining ones are ended with an error. A second signal hurries. Drained means booked: settlements that
// the store has not accepted yet are waited for last.

import { isatty } from 'node:tty'
import { Failure } from '../domain/failure.ts'
import type { InFlight } from '../http/router.ts'
import type { HttpServer } from '../http/server.ts'
import type { SlotList } from '../lib/slot-list.ts'
import type { Log } from '../telemetry/log.ts'

export type Drain = {
  // Whether responses should ask for a new connection.
  readonly closing: () => boolean
  // Whether new requests are still served.
  readonly open: () => boolean
  cutKey(keyId: string): void
  // Returns the ids of the requests that could not be settled in time.
  finished(servers: readonly HttpServer[], settlements: Settlements): Promise<readonly string[]>
}

export type Settlements = {
  // Requests with a row that is not settled yet.
  readonly open: Iterable<string> & { readonly size: number }
  // Waiting retries run now.
  hurry(): void
}

export type DrainNeeds = {
  readonly inFlight: SlotList<InFlight>
  readonly bounds: {
    readonly drainDelayMs: number
    readonly drainMaxMs: number
    readonly drainSettleMsMax: number
    readonly drainSettleHurriedMsMax: number
  }
  readonly log: Log
  // By a primary that has received this many signals, in addition to our own.
  readonly onTold?: ((listener: (signal: string, count: number) => void) => void) | undefined
}

// Ended requests still settle and send an error to their caller; this is how long that may take.
const LAST_WORDS_MS = 5_000

export function drainable(needs: DrainNeeds): Drain {
  let phase: 'serving' | 'closing' | 'closed' = 'serving'
  const signals = signalCounter(needs.onTold)

  function cut(why: string, keyId?: string): void {
    for (const flight of needs.inFlight) {
      if (keyId === undefined || flight.keyId === keyId) flight.call.client.cancel(new Failure('cancelled', why))
    }
  }

  return {
    closing: () => phase !== 'serving',
    open: () => phase !== 'closed',
    cutKey: keyId => cut('the key was revoked', keyId),
    async finished(servers, settlements) {
      const first = await signals.next()
      phase = 'closing'
      needs.log.info({ inFlight: needs.inFlight.size, unsettled: settlements.open.size }, 'draining')
      settlements.hurry()
      const hurried = signals.next()
      // A person at a terminal does not wait for load balancers.
      if (first === 'SIGTERM') await Promise.race([atMost(needs.bounds.drainDelayMs), hurried])
      phase = 'closed'
      for (const server of servers) server.stop()
      await Promise.race([empty(needs.inFlight), atMost(needs.bounds.drainMaxMs), hurried])
      cut('the server is shutting down')
      await Promise.race([empty(needs.inFlight), atMost(LAST_WORDS_MS)])
      for (const server of servers) server.closeAll()
      const { drainSettleMsMax, drainSettleHurriedMsMax } = needs.bounds
      const inAHurry = hurried.then(() => atMost(drainSettleHurriedMsMax))
      await Promise.race([empty(settlements.open), atMost(drainSettleMsMax), inAHurry])
      return [...settlements.open]
    },
  }
}

// A signal that a service manager sends to primary and worker alike is one signal, although it arrives here twice.
function signalCounter(onTold: DrainNeeds['onTold']): { next(): Promise<string> } {
  const seen: string[] = []
  const waiting: ((signal: string) => void)[] = []
  let counted = 0
  let own = 0

  function heard(signal: string, count: number): void {
    if (count <= counted) return
    counted = count
    const next = waiting.shift()
    if (next === undefined) seen.push(signal)
    else next(signal)
  }

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      own += 1
      heard(signal, own)
    })
  }
  onTold?.(heard)
  return {
    next() {
      const before = seen.shift()
      return before === undefined ? new Promise(resolve => waiting.push(resolve)) : Promise.resolve(before)
    },
  }
}

async function empty(set: { readonly size: number }): Promise<void> {
  while (set.size > 0) await sleep(20)
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

// The loser of a race must not keep the process alive: a drained process ends at once.
function atMost(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms).unref())
}

// SIGHUP has two meanings: a supervisor or a person requests a reload, or the terminal that started the process has closed. After
// the second nobody can stop the process, so it ends as by Ctrl-C.
export function onHangUp(reload: () => void): void {
  const terminals = [0, 1, 2].filter(fd => isatty(fd))
  let isOver = false
  process.on('SIGHUP', () => {
    // The kernel and the shell may both send it: a second one must not hurry the drain.
    if (isOver) return
    // A closed terminal is no longer a TTY.
    if (terminals.every(fd => isatty(fd))) return reload()
    isOver = true
    process.kill(process.pid, 'SIGINT')
  })
}
