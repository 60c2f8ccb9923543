// Idle connections, found by the account that used them last or by their idle time. The most recently used one that fits is
// reused first, so that the others age and are closed.
import type { Line } from './connection.ts'

type Resting = Pick<Line, 'accountId' | 'idleSinceMs' | 'readFromTurn'> & {
  readonly socket: { readonly destroyed: boolean }
}

export type IdleLines<Item extends Resting> = {
  add(line: Item): void
  // One that the account used last, idle since then or before, with everything read by this turn of the event loop.
  take(accountId: string, since: number, turn: number): Item | undefined
  // Of any account.
  takeAny(since: number, turn: number): Item | undefined
  forget(line: Item): void
  // The one that has been idle longest.
  oldest(): Item | undefined
  all(): readonly Item[]
}

export function idleLines<Item extends Resting = Line>(): IdleLines<Item> {
  // By the start of their idle time, the longest first.
  const lines: Item[] = []
  const ofAccount = new Map<string, Item[]>()

  function remove(line: Item): void {
    const mine = ofAccount.get(line.accountId)
    if (mine === undefined || !cutOut(mine, line)) return
    if (mine.length === 0) ofAccount.delete(line.accountId)
    cutOut(lines, line)
  }

  function takeFrom(from: readonly Item[], since: number, turn: number): Item | undefined {
    const end = countUntil(from, since)
    // A few may have closed or have unread data; with more of them a new connection is as good.
    for (let at = end - 1; at >= Math.max(0, end - LOOKS_MAX); at--) {
      const line = from[at] as Item
      if (line.readFromTurn > turn || line.socket.destroyed) continue
      remove(line)
      return line
    }
    return undefined
  }

  return {
    add(line) {
      lines.push(line)
      const mine = ofAccount.get(line.accountId)
      if (mine === undefined) ofAccount.set(line.accountId, [line])
      else mine.push(line)
    },
    take(accountId, since, turn) {
      const mine = ofAccount.get(accountId)
      return mine === undefined ? undefined : takeFrom(mine, since, turn)
    },
    takeAny: (since, turn) => takeFrom(lines, since, turn),
    forget: remove,
    oldest: () => lines[0],
    all: () => [...lines],
  }
}

const LOOKS_MAX = 16

// The number of connections idle since then or before.
function countUntil(lines: readonly Resting[], since: number): number {
  let low = 0
  let high = lines.length
  // Mostly called for the last one.
  if (high > 0 && (lines[high - 1] as Resting).idleSinceMs <= since) return high
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((lines[middle] as Resting).idleSinceMs <= since) low = middle + 1
    else high = middle
  }
  return low
}

// Connections that became idle at the same moment are adjacent.
function cutOut<Item extends Resting>(lines: Item[], line: Item): boolean {
  for (let at = countUntil(lines, line.idleSinceMs) - 1; at >= 0; at--) {
    if (lines[at] === line) {
      lines.splice(at, 1)
      return true
    }
    if ((lines[at] as Item).idleSinceMs !== line.idleSinceMs) return false
  }
  return false
}
