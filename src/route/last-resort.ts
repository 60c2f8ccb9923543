// Who may call a model whose targets all have open breakers: one request in a while, and the accounts that ask for it take
// turns. Whoever has waited longest is next, so that one account cannot use up every try.
import type { Clock } from '../lib/clock.ts'

export type LastResortBounds = {
  readonly lastResortEveryMs: number
  // An account that has not asked for this long is no longer waited for.
  readonly lastResortAskedMs: number
  readonly lastResortAccountsMax: number
}

export type LastResorts = {
  // Whether it is time for another one, whose ever; looks without changing anything.
  isFree(modelId: string): boolean
  // Asks for it, and takes it if it is this account's turn. Who is refused has a claim on the next one.
  take(modelId: string, accountId: string): boolean
  keep(isKnown: (modelId: string) => boolean): void
  prune(): void
}

export function lastResorts(bounds: LastResortBounds & { readonly clock: Clock }): LastResorts {
  const { clock } = bounds
  const models = new Map<string, Turns>()

  function isFreeAt(turns: Turns | undefined, nowMs: number): boolean {
    return turns === undefined || nowMs - turns.takenMs >= bounds.lastResortEveryMs
  }

  return {
    isFree: modelId => isFreeAt(models.get(modelId), clock.monotonic()),
    take(modelId, accountId) {
      const nowMs = clock.monotonic()
      let turns = models.get(modelId)
      if (turns === undefined) {
        turns = { takenMs: Number.NEGATIVE_INFINITY, accounts: new Map() }
        models.set(modelId, turns)
      }
      const asking = asked(turns, accountId, nowMs, bounds.lastResortAccountsMax)
      if (!isFreeAt(turns, nowMs) || !isNext(turns, asking, nowMs - bounds.lastResortAskedMs)) return false
      turns.takenMs = nowMs
      asking.triedMs = nowMs
      return true
    },
    keep(isKnown) {
      for (const modelId of models.keys()) if (!isKnown(modelId)) models.delete(modelId)
    },
    prune() {
      const sinceMs = clock.monotonic() - bounds.lastResortAskedMs
      for (const [modelId, { accounts }] of models) {
        for (const [accountId, { askedMs }] of accounts) {
          // They stand in the order in which they asked last.
          if (askedMs >= sinceMs) break
          accounts.delete(accountId)
        }
        if (accounts.size === 0) models.delete(modelId)
      }
    },
  }
}

type Turns = { takenMs: number; readonly accounts: Map<string, Asking> }
type Asking = { askedMs: number; triedMs: number }

function asked({ accounts }: Turns, accountId: string, nowMs: number, accountsMax: number): Asking {
  const asking = accounts.get(accountId) ?? { askedMs: nowMs, triedMs: Number.NEGATIVE_INFINITY }
  accounts.delete(accountId)
  if (accounts.size >= accountsMax) accounts.delete(accounts.keys().next().value as string)
  asking.askedMs = nowMs
  accounts.set(accountId, asking)
  return asking
}

// Nobody who asked lately has waited longer for a try.
function isNext({ accounts }: Turns, { triedMs }: Asking, sinceMs: number): boolean {
  for (const other of accounts.values()) if (other.askedMs >= sinceMs && other.triedMs < triedMs) return false
  return true
}
