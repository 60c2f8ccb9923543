// Idle connections, found by the account that used them last or by how long they have been idle. Of those that fit, the one
// used last is reused first, so that the others grow old and are closed.
import type { Connection } from './connection.ts'

type Idle = Pick<Connection, 'accountId' | 'idleSinceMs' | 'readFromTurn'> & {
  readonly transport: { readonly destroyed: boolean }
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
      if (connection.readFromTurn > turn || connection.transport.destroyed) continue
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
