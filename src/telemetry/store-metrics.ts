// What the metrics show of the store: whether it responds, balances, and budgets. It is the same on every node and in every worker.
import { Gauge, Registry } from '@prometheus-io/client'
import { budgetLeft } from '../domain/budget.ts'
import type { Nano } from '../domain/credits.ts'
import type { MoneyGauges } from '../domain/money-gauges.ts'
import type { Clock } from '../lib/clock.ts'
import { refreshed } from '../lib/refreshed.ts'

export type StoreReader = {
  // Rejects when the store is unavailable.
  ping(): Promise<void>
  // At most this many accounts, and as many budgets.
  money(max: number): Promise<MoneyGauges>
}

export type StoreMetricsNeeds = {
  readonly store: StoreReader
  readonly bounds: StoreMetricsBounds
  readonly clock: Pick<Clock, 'monotonic'>
  onError(error: unknown): void
}

export type StoreMetricsBounds = {
  readonly gaugesMax: number
  readonly gaugesReadEveryMs: number
  readonly gaugesWaitMsMax: number
  readonly gaugesKeptMs: number
  readonly storeCheckedEveryMs: number
}

// The values are read in the background, at most once per interval and only while the metrics are read.
export function storeMetrics({ store, bounds, clock, onError }: StoreMetricsNeeds): { registry(): Promise<Registry> } {
  const registry = new Registry()
  const isUp = labelled(registry, 'turnpike_store_up', '1 if the database responds, 0 if not.')
  const money = moneyGauges(registry)
  const { gaugesWaitMsMax: waitMsMax, gaugesKeptMs: keptMs } = bounds
  const check = refreshed({
    read: () =>
      store.ping().then(
        () => 1,
        () => 0,
      ),
    everyMs: bounds.storeCheckedEveryMs,
    waitMsMax,
    keptMs,
    clock,
    onError,
  })
  const balances = refreshed({
    read: () => store.money(bounds.gaugesMax),
    everyMs: bounds.gaugesReadEveryMs,
    waitMsMax,
    keptMs,
    clock,
    onError,
  })

  return {
    async registry() {
      const [up, values] = await Promise.all([check.get(), balances.get()])
      isUp.reset()
      if (up !== undefined) isUp.set({}, up)
      money.show(values)
      return registry
    },
  }
}

const BUDGET_LABELS = ['object', 'id', 'account', 'window', 'action'] as const

function moneyGauges(registry: Registry) {
  const available = labelled(registry, 'turnpike_account_available_credits', 'Available credits of an account.', [
    'account',
  ])
  const owed = labelled(registry, 'turnpike_account_owed_credits', 'Debt of an account that owes credits.', ['account'])
  const low = labelled(
    registry,
    'turnpike_account_low_balance_credits',
    'The balance below which an account counts as low, where one is set.',
    ['account'],
  )
  const ratio = labelled(
    registry,
    'turnpike_budget_spent_ratio',
    'Spent share of a budget in its current window; 1 is the whole amount.',
    BUDGET_LABELS,
  )
  const remaining = labelled(
    registry,
    'turnpike_budget_remaining_credits',
    'Credits that a budget leaves in its current window.',
    BUDGET_LABELS,
  )
  let shown: MoneyGauges | undefined

  return {
    show(values: MoneyGauges | undefined) {
      if (values === shown) return
      shown = values
      for (const gauge of [available, owed, low, ratio, remaining]) gauge.reset()
      for (const { id: account, ...each } of values?.accounts ?? []) {
        available.set({ account }, credits(each.available))
        if (each.owed > 0n) owed.set({ account }, credits(each.owed))
        if (each.lowBalance !== null) low.set({ account }, credits(each.lowBalance))
      }
      // Of two budgets with the same window and action, the one closest to its limit is set last.
      for (const budget of values?.budgets.toReversed() ?? []) {
        const { object, id, accountId: account, window, action } = budget
        const labels = { object, id, account, window, action }
        ratio.set(labels, Number(budget.spent) / Number(budget.amount))
        remaining.set(labels, credits(budgetLeft({ ...budget, budget })))
      }
    },
  }
}

// For display: the store has the exact amounts.
function credits(nano: Nano): number {
  return Number(nano) / 1e9
}

function labelled<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: readonly Label[] = [],
): Gauge<Label> {
  return new Gauge<Label>({ name, help, labelNames: [...labelNames], registers: [registry] })
}
