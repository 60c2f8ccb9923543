// Which account may call a model whose targets all have open breakers: one request per interval, and the requesting accounts take
// turns. The one that has waited longest is next, so that one account cannot use up every attempt.
import type { Clock } from '../lib/clock.ts'

export type LastResortBounds = {
  readonly lastResortEveryMs: number
  // An account without a request for this long loses its turn.
  readonly lastResortAskedMs: number
  readonly lastResortAccountsMax: number
}

export type LastResorts = {
  // Whether the next attempt is due, for any account; read-only.
  isFree(modelId: string): boolean
  // Takes the attempt if it is this account's turn. A refused account has a claim on the next one.
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
          // They are in the order of their last request.
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

// No account with a recent request has waited longer.
function isNext({ accounts }: Turns, { triedMs }: Asking, sinceMs: number): boolean {
  for (const other of accounts.values()) if (other.askedMs >= sinceMs && other.triedMs < triedMs) return false
  return true
}
