// Balance records of accounts and keys and the windows of their budgets, in memory from one batch to the next: the store's thread
// is the only writer of the file, so what it has read and changed stays true. A batch appends its changes to the journal. A record
// whose changes are only in the journal is never dropped; once the journal has been applied, any may be.
import type { BudgetPeriod } from '../../domain/budget.ts'
import type { WindowRecord } from '../billing/budgets.ts'
import { readAccountRecord, readKeyRecord, readWindowRecord } from '../billing/records.ts'
import type { AccountRecord, KeyRecord } from '../billing/unit-of-work.ts'
import type { Row } from '../sql/sql.ts'
import type { BillingStatements } from './statements.ts'

export type RecordCache = ReturnType<typeof recordCache>

export function recordCache(run: BillingStatements) {
  const accounts = records<AccountRecord>(id => run.account.get(id) as Row | undefined, readAccountRecord)
  const keys = records<KeyRecord>(id => run.key.get(id) as Row | undefined, readKeyRecord)
  const windows = records<WindowRecord>(id => run.window.get(...id.split(' ')) as Row | undefined, readWindowRecord)

  function append({ record: key, before }: Entry<KeyRecord>): void {
    const account = accounts.known(key.accountId)
    const [now, was] = account?.record.dirty ? [account.record, account.before] : [undefined, undefined]
    if (now !== undefined) {
      refuseImpossible(now.id, now.available, now.held, now.spent, now.owed)
      if (now.available > 0n && now.owed > 0n) throw new Error(`account ${now.id} would have credits and owe some`)
    }
    refuseImpossible(key.id, key.spent, key.held)
    run.append.get(
      key.accountId,
      key.id,
      now === undefined ? 0n : now.available - was.available,
      now === undefined ? 0n : now.held - was.held,
      now === undefined ? 0n : now.spent - was.spent,
      now === undefined ? 0n : now.owed - was.owed,
      key.spent - before.spent,
      key.held - before.held,
      key.day,
      key.dayCount,
      now === undefined ? 0 : now.month,
      now === undefined ? 0n : now.monthBase - was.monthBase,
      key.month,
      key.monthBase - before.monthBase,
    )
    if (now !== undefined) {
      was.available = now.available
      was.held = now.held
      was.spent = now.spent
      was.owed = now.owed
      was.monthBase = now.monthBase
      now.dirty = false
    }
    before.spent = key.spent
    before.held = key.held
    before.monthBase = key.monthBase
    key.dirty = false
  }

  function appendWindow({ record: window, before }: Entry<WindowRecord>): void {
    const { subject, period, began, spent, held } = window
    refuseImpossible(`a ${period} of ${subject}`, spent, held)
    run.appendWindow.get(subject, period, began, spent - before.spent, held - before.held)
    before.spent = spent
    before.held = held
    window.dirty = false
  }

  return {
    account: accounts.of,
    key: keys.of,
    // A record that is in memory, without reading one.
    knownKey: (id: string): KeyRecord | undefined => keys.known(id)?.record,
    window: (subject: string, period: BudgetPeriod, began: number): WindowRecord | undefined =>
      windows.of(`${subject} ${period} ${began}`),
    openWindow(subject: string, period: BudgetPeriod, began: number): WindowRecord {
      const fresh = () => ({ subject, period, began, spent: 0n, held: 0n, dirty: false })
      return windows.ofOrNew(`${subject} ${period} ${began}`, fresh)
    },
    // Of the largest of the three.
    size: () => Math.max(accounts.size(), keys.size(), windows.size()),
    // Appends what this batch has changed to the journals: an entry per key, with the changes of its account in the entry of the
    // first of its keys, and an entry per window. Returns the number of entries.
    writeJournal(): number {
      let entries = 0
      for (const entry of windows.takeTouched()) {
        if (!entry.record.dirty) continue
        appendWindow(entry)
        entries += 1
      }
      for (const entry of keys.takeTouched()) {
        if (!entry.record.dirty) continue
        append(entry)
        entries += 1
      }
      for (const { record } of accounts.takeTouched()) {
        if (record.dirty) throw new Error(`account ${record.id} has changed without one of its keys`)
      }
      return entries
    },
    // Only while the journal is empty.
    drop(): void {
      accounts.drop()
      keys.drop()
      windows.drop()
    },
  }
}

// A record, and its balances as of the last batch.
type Entry<Kept> = { readonly id: string; readonly record: Kept; readonly before: Kept; isTouched: boolean }

function records<Kept>(find: (id: string) => Row | undefined, read: (row: Row) => Kept) {
  const entries = new Map<string, Entry<Kept>>()
  let touched: Entry<Kept>[] = []
  // Most operations of a batch share an account, and comparing two ids is faster than a table lookup.
  let last: Entry<Kept> | undefined

  function load(id: string): Entry<Kept> | undefined {
    const row = find(id)
    return row === undefined ? undefined : keep(id, () => read(row))
  }

  function keep(id: string, make: () => Kept): Entry<Kept> {
    const entry = { id, record: make(), before: make(), isTouched: false }
    entries.set(id, entry)
    return entry
  }

  function touch(entry: Entry<Kept>): Kept {
    last = entry
    if (!entry.isTouched) {
      entry.isTouched = true
      touched.push(entry)
    }
    return entry.record
  }

  return {
    known: (id: string) => entries.get(id),
    size: () => entries.size,
    of(id: string): Kept | undefined {
      if (last?.id === id) return last.record
      const entry = entries.get(id) ?? load(id)
      return entry && touch(entry)
    },
    ofOrNew(id: string, make: () => Kept): Kept {
      return touch(entries.get(id) ?? load(id) ?? keep(id, make))
    },
    takeTouched(): readonly Entry<Kept>[] {
      const taken = touched
      for (const entry of taken) entry.isTouched = false
      touched = []
      last = undefined
      return taken
    },
    drop(): void {
      entries.clear()
      touched = []
      last = undefined
    },
  }
}

// The CHECKs of the tables would only find it at the next write-back, where it could no longer be refused.
function refuseImpossible(id: string, ...amounts: readonly bigint[]): void {
  for (const amount of amounts) if (amount < 0n) throw new Error(`a balance of ${id} would be below zero`)
}
