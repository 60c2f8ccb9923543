// Whether an account and a key can afford the maximum cost of a request, and how long an answer they can afford.
import { ceilNano, type Nano, type Pico, tokensFor } from './credits.ts'

// The requested hold.
export type HoldAsk = {
  // Prompt and request price at their maximum, not yet rounded.
  readonly base: Pico
  // The lowest base that counting the prompt could give, such that with `outputPrice` it is the lowest cost of one output token;
  // null if the prompt was counted and the base is final.
  readonly baseAtBest: Pico | null
  // For all choices together, per output token.
  readonly outputPrice: Pico
  readonly outputTokens: number
  // The caller named no maximum: instead of a refusal, half of the available credits may cap the output, down to this many
  // tokens.
  readonly outputTokensMin: number | null
}

export type Funds = { readonly available: Nano; readonly held: Nano; readonly owed: Nano }
export type KeyFunds = { readonly spent: Nano; readonly held: Nano; readonly creditLimit: Nano | null }

// Of all budgets that block: the least that is left of one, and the least if nothing were held.
export type BudgetFunds = { readonly left: Nano; readonly released: Nano }

export type HoldDecision =
  | { readonly kind: 'fits'; readonly hold: Nano; readonly outputTokens: number }
  | {
      readonly kind: 'insufficient_funds'
      readonly limit: 'account' | 'key' | 'budget'
      readonly available: Nano
      readonly required: Nano
      readonly affordableTokens: number
      readonly heldByOthers: boolean
    }

// Decides whether account, key and budgets can afford the entry. Without a maximum from the caller, half of the available credits
// may cap the output.
export function decideHold(entry: HoldAsk, account: Funds, key: KeyFunds, budgets?: BudgetFunds): HoldDecision {
  const ofBoth = leastLeft(account, key)
  const available = least(ofBoth, budgets?.left ?? null)
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

  // Where a cap is allowed, the required amount is the one for which the smallest cap fits into half.
  const required =
    entry.outputTokensMin === null ? full : 2n * holdFor(entry, Math.min(entry.outputTokensMin, entry.outputTokens))
  // Waiting helps only if all of them could afford it once nothing is held.
  return {
    kind: 'insufficient_funds',
    limit: bindingLimit(available, ofBoth, account),
    available,
    required,
    affordableTokens: Math.min(entry.outputTokens, tokensFor(available, entry.base, entry.outputPrice)),
    heldByOthers: account.owed === 0n && required <= onceReleased(account, key, budgets),
  }
}

function bindingLimit(available: Nano, ofBoth: Nano, account: Funds): 'account' | 'key' | 'budget' {
  if (account.owed > 0n) return 'account'
  if (available < ofBoth) return 'budget'
  return ofBoth < account.available ? 'key' : 'account'
}

// Whether counting the prompt could change the decision or the refusal's figures. Not for an account that could not pay for one
// output token whatever the count.
export function countMayHelp(entry: HoldAsk, account: Funds, key: KeyFunds, budgets?: BudgetFunds): boolean {
  if (entry.baseAtBest === null || entry.baseAtBest >= entry.base || account.owed > 0n) return false
  return ceilNano(entry.baseAtBest + entry.outputPrice) <= onceReleased(account, key, budgets)
}

// The spendable amount: the account's available credits, or the remainder of the key's own limit or of a budget if that is less.
export function leastLeft(account: Pick<Funds, 'available'>, key: KeyFunds, budgets?: BudgetFunds): Nano {
  const keyLeft = key.creditLimit === null ? null : positive(key.creditLimit - key.spent - key.held)
  return least(least(account.available, keyLeft), budgets?.left ?? null)
}

// The spendable amount if nothing were held.
function onceReleased(account: Funds, key: KeyFunds, budgets?: BudgetFunds): Nano {
  const keyWithHeld = key.creditLimit === null ? null : positive(key.creditLimit - key.spent)
  return least(least(account.available + account.held, keyWithHeld), budgets?.released ?? null)
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
