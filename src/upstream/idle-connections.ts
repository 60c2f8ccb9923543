// Idle connections, found by the account that used them last or by how long they have been idle. Of those that fit, the one
// used last is reused first, so that the others grow old and are closed.
import { idHash } from '../lib/id-hash.ts'
import type { Connection } from './connection.ts'

export type IdleConnections = {
  add(connection: Connection): void
  // One that the account used last, idle since then or before, and read to its end by this turn of the event loop.
  take(accountId: string, since: number, turn: number): Connection | undefined
  // Those idle since then or before may go to any account from now on; `since` never decreases. Since when the next one is idle;
  // undefined if there are no others.
  ripen(since: number): number | undefined
  // A ripe one, of any account.
  takeAny(): Connection | undefined
  forget(connection: Connection): void
  // The one that has been idle longest.
  oldest(): Connection | undefined
  all(): readonly Connection[]
}

export function idleConnections(): IdleConnections {
  // Linked in the order in which they became idle, ripe ones up to `ripe`: hundreds of them need not be searched.
  let oldest: Connection | undefined
  let newest: Connection | undefined
  let ripe: Connection | undefined
  // By a hash of their account, in the same order. With thousands of accounts a Map would insert and delete an entry per request.
  const lists = new Array<Connection[] | undefined>(LISTS).fill(undefined)

  function remove(connection: Connection): void {
    const at = listOf(connection.accountId)
    const list = lists[at]
    if (list === undefined || !cutOut(list, connection)) return
    if (list.length === 0) lists[at] = undefined
    const { older, newer } = connection
    if (ripe === connection) ripe = older
    if (older === undefined) oldest = newer
    else older.newer = newer
    if (newer === undefined) newest = older
    else newer.older = older
    connection.older = undefined
    connection.newer = undefined
  }

  return {
    add(connection) {
      connection.older = newest
      if (newest === undefined) oldest = connection
      else newest.newer = connection
      newest = connection
      const at = listOf(connection.accountId)
      const list = lists[at]
      if (list === undefined) lists[at] = [connection]
      else list.push(connection)
    },
    take(accountId, since, turn) {
      const list = lists[listOf(accountId)]
      if (list === undefined) return undefined
      const end = countUntil(list, since)
      for (let at = end - 1; at >= Math.max(0, end - LOOKS_MAX); at--) {
        const connection = list[at] as Connection
        if (connection.accountId !== accountId || connection.readFromTurn > turn) continue
        if (connection.transport.isDestroyed()) continue
        remove(connection)
        return connection
      }
      return undefined
    },
    ripen(since) {
      let next = ripe === undefined ? oldest : ripe.newer
      for (; next !== undefined && next.idleSinceMs <= since; next = next.newer) ripe = next
      return next?.idleSinceMs
    },
    takeAny() {
      let connection = ripe
      for (let looks = 0; connection !== undefined && looks < LOOKS_MAX; looks++) {
        if (!connection.transport.isDestroyed()) {
          remove(connection)
          return connection
        }
        connection = connection.older
      }
      return undefined
    },
    forget: remove,
    oldest: () => oldest,
    all() {
      const connections: Connection[] = []
      for (let next = oldest; next !== undefined; next = next.newer) connections.push(next)
      return connections
    },
  }
}

// A few may have closed, not been read, or belong to an account with the same hash; with more of them another connection is as
// good.
const LOOKS_MAX = 16
const LISTS = 1024

function listOf(accountId: string): number {
  return idHash(accountId) % LISTS
}

// How many have been idle since then or before.
function countUntil(connections: readonly Connection[], since: number): number {
  let low = 0
  let high = connections.length
  // The usual case: all of them.
  if (high > 0 && (connections[high - 1] as Connection).idleSinceMs <= since) return high
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((connections[middle] as Connection).idleSinceMs <= since) low = middle + 1
    else high = middle
  }
  return low
}

// Those that became idle at the same moment are neighbours.
function cutOut(connections: Connection[], connection: Connection): boolean {
  for (let at = countUntil(connections, connection.idleSinceMs) - 1; at >= 0; at--) {
    if (connections[at] === connection) {
      connections.splice(at, 1)
      return true
    }
    if ((connections[at] as Connection).idleSinceMs !== connection.idleSinceMs) return false
  }
  return false
}
