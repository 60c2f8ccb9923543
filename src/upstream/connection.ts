// One connection to an upstream and the exchange that is under way on it: their state, and when their timeouts are due; and the
// connections that are idle.
import type { HttpClientRequest, ResponseHandler, ResponseHeaders } from './http-client.ts'

// What carries requests and responses: a socket with an HTTP parser. It never reports anything before it has been returned.
export type Transport = {
  isDestroyed(): boolean
  // Whether all that was sent has been handed to the kernel.
  isDrained(): boolean
  send(request: HttpClientRequest): void
  pause(): void
  resume(): void
  destroy(error?: Error): void
}

export type OpenTransport = (events: TransportEvents) => Transport

export type TransportEvents = {
  // A request may be sent.
  ready(): void
  // Bytes have arrived; called before they are parsed.
  arrived(): void
  head(status: number, headers: ResponseHeaders): void
  // The bytes are valid during the call only.
  data(bytes: Buffer): void
  // The response is complete. `reusable`: the connection may carry another request.
  end(reusable: boolean): void
  // The response cannot be read to its end; undefined: the upstream closed the connection. The transport destroys itself.
  failed(error: Error | undefined): void
  // Called once, last.
  closed(error: Error | undefined): void
}

export type Exchange = {
  readonly request: HttpClientRequest
  readonly handler: ResponseHandler
  readonly startedMs: number
  sentMs: number
  // When bytes last arrived; undefined until the response's head is complete.
  heardMs: number | undefined
  // Whether anything arrived for it, even half a head.
  answered: boolean
  connection: Connection | undefined
  paused: boolean
  over: boolean
}

// Serves one exchange at a time and is idle between them.
export type Connection = {
  readonly transport: Transport
  exchange: Exchange | undefined
  ready: boolean
  // How many responses it carried to their end.
  answers: number
  // The account of its last request.
  accountId: string
  idleSinceMs: number
  // The turn of the event loop by which everything that followed its last response has been read.
  readFromTurn: number
  idleMs: number
  timer: NodeJS.Timeout | undefined
  timerMs: number
}

// When the next of its timeouts is due. Silence that we caused by pausing is not counted.
export function dueMs({ exchange, idleSinceMs, idleMs }: Connection, silenceMs: number): number {
  if (exchange === undefined) return idleSinceMs + idleMs
  const total = exchange.startedMs + exchange.request.totalMs
  if (exchange.paused || exchange.request.silence?.expected) return total
  const silence =
    exchange.heardMs === undefined ? exchange.sentMs + exchange.request.firstByteMs : exchange.heardMs + silenceMs
  return Math.min(total, silence)
}

// Which timeout has passed, for the log.
export function timeoutMessage({ request, startedMs, sentMs, heardMs }: Exchange, now: number): string {
  if (now - startedMs >= request.totalMs) return `incomplete after ${Math.round(request.totalMs)} ms`
  return heardMs === undefined
    ? `no response after ${Math.round(now - sentMs)} ms`
    : `no data for ${Math.round(now - heardMs)} ms`
}

// A connection is closed a little before the upstream would close it.
export function keepAliveMs(headers: ResponseHeaders): number {
  const seconds = /\btimeout=(\d{1,6})/.exec(headers.get('keep-alive') ?? '')?.[1]
  return seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000 - 1000
}

// Idle connections, found by the account that used them last or by how long they have been idle. Of those that fit, the one
// used last is reused first, so that the others grow old and are closed.
type Idle = Pick<Connection, 'accountId' | 'idleSinceMs' | 'readFromTurn'> & {
  readonly transport: Pick<Transport, 'isDestroyed'>
}

export type IdleConnections<Item extends Idle> = {
  add(connection: Item): void
  // One that the account used last, idle since then or before, and read to its end by this turn of the event loop.
  take(accountId: string, since: number, turn: number): Item | undefined
  // Of any account.
  takeAny(since: number, turn: number): Item | undefined
  forget(connection: Item): void
  // The one that has been idle longest.
  oldest(): Item | undefined
  all(): readonly Item[]
}

export function idleConnections<Item extends Idle = Connection>(): IdleConnections<Item> {
  // In the order in which they became idle.
  const connections: Item[] = []
  const ofAccount = new Map<string, Item[]>()

  function remove(connection: Item): void {
    const mine = ofAccount.get(connection.accountId)
    if (mine === undefined || !cutOut(mine, connection)) return
    if (mine.length === 0) ofAccount.delete(connection.accountId)
    cutOut(connections, connection)
  }

  function takeFrom(from: readonly Item[], since: number, turn: number): Item | undefined {
    const end = countUntil(from, since)
    // A few may have closed or not been read; with more of them a new connection is as good.
    for (let at = end - 1; at >= Math.max(0, end - LOOKS_MAX); at--) {
      const connection = from[at] as Item
      if (connection.readFromTurn > turn || connection.transport.isDestroyed()) continue
      remove(connection)
      return connection
    }
    return undefined
  }

  return {
    add(connection) {
      connections.push(connection)
      const mine = ofAccount.get(connection.accountId)
      if (mine === undefined) ofAccount.set(connection.accountId, [connection])
      else mine.push(connection)
    },
    take(accountId, since, turn) {
      const mine = ofAccount.get(accountId)
      return mine === undefined ? undefined : takeFrom(mine, since, turn)
    },
    takeAny: (since, turn) => takeFrom(connections, since, turn),
    forget: remove,
    oldest: () => connections[0],
    all: () => [...connections],
  }
}

const LOOKS_MAX = 16

// How many have been idle since then or before.
function countUntil(connections: readonly Idle[], since: number): number {
  let low = 0
  let high = connections.length
  // The usual case: all of them.
  if (high > 0 && (connections[high - 1] as Idle).idleSinceMs <= since) return high
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((connections[middle] as Idle).idleSinceMs <= since) low = middle + 1
    else high = middle
  }
  return low
}

// Those that became idle at the same moment are neighbours.
function cutOut<Item extends Idle>(connections: Item[], connection: Item): boolean {
  for (let at = countUntil(connections, connection.idleSinceMs) - 1; at >= 0; at--) {
    if (connections[at] === connection) {
      connections.splice(at, 1)
      return true
    }
    if ((connections[at] as Item).idleSinceMs !== connection.idleSinceMs) return false
  }
  return false
}
