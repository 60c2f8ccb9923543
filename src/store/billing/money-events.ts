// The events that reservations and settlements raise: an account's balance is low or exhausted, a budget has reached a threshold.
// Each names what makes it the same event, so that it is raised once per crossing and not once per request.
import { type BudgetState, reachedThresholds, windowEnds } from '../../domain/budget.ts'
import { formatCredits, type Nano } from '../../domain/credits.ts'
import type { OutboxEvent } from '../../domain/events.ts'
import { isoTimeOrNull } from '../../domain/wire-time.ts'
import type { OwnedState } from '../contract/store.ts'
import type { Budgeted, BudgetOwner } from './budgets.ts'

type AccountFunds = {
  readonly id: string
  readonly name: string
  readonly available: Nano
  readonly held: Nano
  readonly owed: Nano
  readonly spent: Nano
}

// Once until credits are added: all that an account ever had does not change with its costs.
function onceFunded(type: string, { id, available, held, owed, spent }: AccountFunds): string {
  return `${type} ${id} ${available + held - owed + spent}`
}

export function balanceExhausted(account: AccountFunds): OutboxEvent {
  const { id, name, available, owed } = account
  return {
    type: 'balance.exhausted',
    accountId: id,
    once: onceFunded('balance.exhausted', account),
    data: { account_id: id, account_name: name, available: formatCredits(available), owed: formatCredits(owed) },
  }
}

// Of a request that what is left cannot pay. Credits that are spent to the end afterwards raise the event again: an expensive
// request must not hide it.
export function balanceRefused(account: AccountFunds): OutboxEvent {
  const event = balanceExhausted(account)
  return account.available + account.held > account.owed ? refused(event) : event
}

function refused(event: OutboxEvent): OutboxEvent {
  return { ...event, once: `${event.once} refused` }
}

export function balanceLow(account: AccountFunds, threshold: Nano): OutboxEvent {
  const { id, name, available } = account
  return {
    type: 'balance.low',
    accountId: id,
    once: `${onceFunded('balance.low', account)} ${threshold}`,
    data: {
      account_id: id,
      account_name: name,
      available: formatCredits(available),
      threshold: formatCredits(threshold),
    },
  }
}

// Events of the thresholds that a cost has reached; both lists have the same budgets in the same order.
export function crossings(
  subjects: Readonly<Record<BudgetOwner, Budgeted>>,
  before: readonly OwnedState[],
  after: readonly OwnedState[],
): readonly OutboxEvent[] {
  return after.flatMap((state, i) =>
    reachedThresholds(state.budget, before[i]?.spent ?? 0n, state.spent).map(threshold =>
      budgetEvent(state.owner, subjects[state.owner], subjects.account.id, state, threshold),
    ),
  )
}

// The same for a budget.
export function budgetRefused(
  owner: BudgetOwner,
  subject: Pick<Budgeted, 'id' | 'name'>,
  accountId: string,
  state: BudgetState,
): OutboxEvent {
  const event = budgetEvent(owner, subject, accountId, state, 100)
  return state.spent < state.budget.amount ? refused(event) : event
}

// One event per budget, window and threshold.
export function budgetEvent(
  owner: BudgetOwner,
  { id, name }: Pick<Budgeted, 'id' | 'name'>,
  accountId: string,
  { budget, spent, began }: BudgetState,
  threshold: number,
): OutboxEvent {
  const { amount, window, action } = budget
  const type = threshold < 100 ? 'budget.threshold' : 'budget.exhausted'
  return {
    type,
    accountId,
    once: [type, id, window, began, amount, action, threshold].join(' '),
    data: {
      subject: { object: owner, id, name },
      account_id: accountId,
      budget: { amount: formatCredits(amount), window, action },
      threshold,
      spent: formatCredits(spent),
      resets_at: isoTimeOrNull(windowEnds(window, began)),
    },
  }
}
