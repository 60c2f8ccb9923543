// Whether an account and a key afford what a request may cost at most, and how long an answer they afford.
import { ceilNano, type Nano, type Pico, tokensFor } from './credits.ts'

// What is to be held.
export type HoldAsk = {
  // Prompt and request price at their dearest, not yet rounded.
  readonly base: Pico
  // What a count of the prompt could bring the base down to at best; null: it was counted, and the base stands.
  readonly baseAtBest: Pico | null
  // Of all choices together, per token of output.
  readonly outputPrice: Pico
  readonly outputTokens: number
  // The caller named no maximum: half of what is available may cap the output instead of refusing, down to this many.
  readonly outputTokensMin: number | null
}

export type Funds = { readonly available: Nano; readonly held: Nano; readonly owed: Nano }
export type KeyFunds = { readonly spent: Nano; readonly held: Nano; readonly creditLimit: Nano | null }

export type HoldDecision =
  | { readonly kind: 'fits'; readonly hold: Nano; readonly outputTokens: number }
  | {
      readonly kind: 'short'
      readonly limit: 'account' | 'key'
      readonly available: Nano
      readonly required: Nano
      readonly affordableTokens: number
      readonly heldByOthers: boolean
    }

// Whether account and key afford the entry. Without a maximum from the caller, half of what is there may cap the output.
export function decideHold(entry: HoldAsk, account: Funds, key: KeyFunds): HoldDecision {
  const available = leastLeft(account, key)
  const keyBinds = available < account.available
  const full = holdFor(entry, entry.outputTokens)

  if (account.owed === 0n && entry.outputTokensMin !== null) {
    const half = tokensFor(available / 2n, entry.base, entry.outputPrice)
    if (half < entry.outputTokens && half >= entry.outputTokensMin) {
      return { kind: 'fits', hold: holdFor(entry, half), outputTokens: half }
    }
    if (half >= entry.outputTokens) return { kind: 'fits', hold: full, outputTokens: entry.outputTokens }
  } else if (account.owed === 0n && full <= available) {
    return { kind: 'fits', hold: full, outputTokens: entry.outputTokens }
  }

  // With a cap allowed, what is required is what makes the smallest cap fit into half.
  const required =
    entry.outputTokensMin === null ? full : 2n * holdFor(entry, Math.min(entry.outputTokensMin, entry.outputTokens))
  // Waiting helps only where both would afford it once nothing is held any more.
  return {
    kind: 'short',
    limit: keyBinds ? 'key' : 'account',
    available,
    required,
    affordableTokens: Math.min(entry.outputTokens, tokensFor(available, entry.base, entry.outputPrice)),
    heldByOthers: account.owed === 0n && required <= onceReleased(account, key),
  }
}

// Whether it is worth counting the prompt of an entry that does not fit: the refusal too says what would fit and whether
// waiting helps. Not for who could not pay for one token of an answer whatever is counted.
export function countMayHelp(entry: HoldAsk, account: Funds, key: KeyFunds): boolean {
  if (entry.baseAtBest === null || entry.baseAtBest >= entry.base || account.owed > 0n) return false
  return ceilNano(entry.baseAtBest + entry.outputPrice) <= onceReleased(account, key)
}

// What could still be spent: the account's, or what is left of the key's own limit if that is less.
export function leastLeft(account: Pick<Funds, 'available'>, key: KeyFunds): Nano {
  const keyLeft = key.creditLimit === null ? null : positive(key.creditLimit - key.spent - key.held)
  return least(account.available, keyLeft)
}

// What could be spent if nothing were held any more.
function onceReleased(account: Funds, key: KeyFunds): Nano {
  const keyWithHeld = key.creditLimit === null ? null : positive(key.creditLimit - key.spent)
  return least(account.available + account.held, keyWithHeld)
}

function holdFor(entry: HoldAsk, outputTokens: number): Nano {
  return ceilNano(entry.base + BigInt(outputTokens) * entry.outputPrice)
}

function least(amount: Nano, other: Nano | null): Nano {
  return other !== null && other < amount ? other : amount
}

function positive(amount: Nano): Nano {
  return amount > 0n ? amount : 0n
}
