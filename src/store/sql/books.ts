// The arithmetic of an account inside one exclusive transaction: what a hold takes and what a settlement gives back.
// Pure, so that every engine books alike and tests can state its promises without a database.
import type { Nano } from '../../domain/credits.ts'
import { ceilNano, tokensFor } from '../../domain/credits.ts'
import type { HoldEntry } from '../contract.ts'

export type Books = { available: Nano; held: Nano; spent: Nano; owed: Nano }
export type KeyBooks = { spent: Nano; held: Nano; creditLimit: Nano | null }

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
export function decideHold(entry: HoldEntry, account: Books, key: KeyBooks): HoldDecision {
  const keyLeft = key.creditLimit === null ? null : positive(key.creditLimit - key.spent - key.held)
  const keyBinds = keyLeft !== null && keyLeft < account.available
  const available = keyBinds ? keyLeft : account.available
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
  const keyWithHeld = key.creditLimit === null ? null : positive(key.creditLimit - key.spent)
  const withHeld = least(account.available + account.held, keyWithHeld)
  return {
    kind: 'short',
    limit: keyBinds ? 'key' : 'account',
    available,
    required,
    affordableTokens: tokensFor(available, entry.base, entry.outputPrice),
    heldByOthers: account.owed === 0n && required <= withHeld,
  }
}

export function takeHold(hold: Nano, account: Books, key: KeyBooks): void {
  account.available -= hold
  account.held += hold
  key.held += hold
}

// The whole cost is booked: from the hold, then from what is available, and what neither covers is owed. What is
// released pays debts first. Since only one of available and owed is above zero, their difference says it all.
export function bookCost(hold: Nano, cost: Nano, account: Books, key: KeyBooks): void {
  const net = account.available - account.owed + hold - cost
  account.available = positive(net)
  account.owed = positive(-net)
  account.held -= hold
  account.spent += cost
  key.held -= hold
  key.spent += cost
}

function holdFor(entry: HoldEntry, outputTokens: number): Nano {
  return ceilNano(entry.base + BigInt(outputTokens) * entry.outputPrice)
}

function least(amount: Nano, other: Nano | null): Nano {
  return other !== null && other < amount ? other : amount
}

function positive(amount: Nano): Nano {
  return amount > 0n ? amount : 0n
}
