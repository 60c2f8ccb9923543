// Balance records of accounts and keys and the windows of their budgets, in memory from one batch to the next: the store's thread
// is the only writer of the file, so what it has read and changed stays true. A batch appends its changes to the journal. A record
// whose changes are only in the journal is never dropped; once the journal has been applied, any may be.
import type { BudgetPeriod } from '../../domain/budget.ts'
import { idHash } from '../../lib/id-hash.ts'
import type { WindowRecord } from '../billing/budgets.ts'
import { readWindowRecord } from '../billing/records.ts'
import type { Row } from '../sql/sql.ts'
import {
  ACCOUNT_AMOUNTS,
  AccountInMemory,
  AMOUNT,
  KEY_AMOUNTS,
  KeyInMemory,
  type Place,
  placesFor,
} from './balance-records.ts'
import type { BillingStatements } from './statements.ts'

export type RecordCache = ReturnType<typeof recordCache>

export function recordCache(run: BillingStatements) {
  const accounts = records(ACCOUNT_AMOUNTS, (id, place) => {
    const row = run.account.get(id) as Row | undefined
    return row && new AccountInMemory(row, place())
  })
  const keys = records(KEY_AMOUNTS, (id, place) => {
    const row = run.key.get(id) as Row | undefined
    return row && new KeyInMemory(row, place())
  })
  const windows = windowRecords(run)
  // The key of the last lookup: the next one is for its account, which the key's entry in the journal then includes.
  let lastKey: KeyInMemory | undefined

  function account(id: string): AccountInMemory | undefined {
    if (lastKey?.accountId !== id) return accounts.of(id)
    if (lastKey.account === undefined) lastKey.account = accounts.of(id)
    else accounts.touch(lastKey.account)
    return lastKey.account
  }

  function append(key: KeyInMemory): void {
    const account = key.account?.dirty ? key.account : undefined
    account?.refuseImpossible()
    if (account !== undefined && account.available > 0n && account.owed > 0n)
      throw new Error(`account ${account.id} would have credits and owe some`)
    key.refuseImpossible()
    run.append.get(
      key.accountId,
      key.id,
      account === undefined ? 0n : account.change(AMOUNT.available),
      account === undefined ? 0n : account.change(AMOUNT.held),
      account === undefined ? 0n : account.change(AMOUNT.spent),
      account === undefined ? 0n : account.change(AMOUNT.owed),
      key.change(AMOUNT.spent),
      key.change(AMOUNT.held),
      key.day,
      key.dayCount,
      account === undefined ? 0 : account.month,
      account === undefined ? 0n : account.change(AMOUNT.monthBase),
      key.month,
      key.change(AMOUNT.monthBase),
    )
    account?.keepChanges()
    key.keepChanges()
  }

  return {
    account,
    key(id: string): KeyInMemory | undefined {
      if (lastKey?.id === id) keys.touch(lastKey)
      else lastKey = keys.of(id)
      return lastKey
    },
    // The next lookup is for this key, if it is still in memory.
    expectKey(key: KeyInMemory | undefined): void {
      if (key?.isDropped === false) lastKey = key
    },
    // A record that is in memory, without reading one.
    knownKey: keys.known,
    window: windows.find,
    openWindow: windows.open,
    // Of the largest of the three.
    size: () => Math.max(accounts.size(), keys.size(), windows.size()),
    // Appends what this batch has changed to the journals: an entry per key, with the changes of its account in the entry of the
    // first of its keys, and an entry per window. Returns the number of entries.
    writeJournal(): number {
      let entries = windows.writeJournal()
      for (const key of keys.takeTouched()) {
        if (!key.dirty) continue
        append(key)
        entries += 1
      }
      for (const { id, dirty } of accounts.takeTouched())
        if (dirty) throw new Error(`account ${id} has changed without one of its keys`)
      return entries
    },
    // Only while the journal is empty.
    drop(): void {
      lastKey = undefined
      accounts.drop()
      keys.drop()
      windows.drop()
    },
  }
}

type InMemory = { readonly id: string; isTouched: boolean; drop(): void }

function records<Kept extends InMemory>(amounts: number, read: (id: string, place: () => Place) => Kept | undefined) {
  const place = placesFor(amounts)
  // By the hash of their id; by the id itself if another has the same hash.
  const known = new Map<string | number, Kept>()
  let touched: Kept[] = []

  function touch(record: Kept): void {
    if (record.isTouched) return
    record.isTouched = true
    touched.push(record)
  }

  function load(id: string): Kept | undefined {
    const record = read(id, place)
    if (record === undefined) return undefined
    const hash = idHash(id)
    known.set(known.has(hash) ? id : hash, record)
    return record
  }

  function find(id: string): Kept | undefined {
    const likely = known.get(idHash(id))
    return likely?.id === id ? likely : known.get(id)
  }

  return {
    known: find,
    size: () => known.size,
    touch,
    of(id: string): Kept | undefined {
      const record = find(id) ?? load(id)
      if (record !== undefined) touch(record)
      return record
    },
    takeTouched(): readonly Kept[] {
      const taken = touched
      for (const record of taken) record.isTouched = false
      touched = []
      return taken
    },
    drop(): void {
      for (const record of known.values()) record.drop()
      known.clear()
      touched = []
    },
  }
}

// A window, and its amounts as of the last batch.
type Window = { readonly record: WindowRecord; spent: bigint; held: bigint; isTouched: boolean }

function windowRecords(run: BillingStatements) {
  const windows = new Map<string, Window>()
  let touched: Window[] = []

  function load(subject: string, period: BudgetPeriod, began: number): WindowRecord | undefined {
    const row = run.window.get(subject, period, began) as Row | undefined
    return row && readWindowRecord(row)
  }

  function keep(id: string, record: WindowRecord): Window {
    const window = { record, spent: record.spent, held: record.held, isTouched: false }
    windows.set(id, window)
    return window
  }

  function touch(window: Window): WindowRecord {
    if (!window.isTouched) {
      window.isTouched = true
      touched.push(window)
    }
    return window.record
  }

  function find(subject: string, period: BudgetPeriod, began: number): WindowRecord | undefined {
    const id = `${subject} ${period} ${began}`
    const known = windows.get(id)
    if (known !== undefined) return touch(known)
    const record = load(subject, period, began)
    return record && touch(keep(id, record))
  }

  function append(window: Window): void {
    const { subject, period, began, spent, held } = window.record
    if (spent < 0n || held < 0n) throw new Error(`a balance of a ${period} of ${subject} would be below zero`)
    run.appendWindow.get(subject, period, began, spent - window.spent, held - window.held)
    window.spent = spent
    window.held = held
    window.record.dirty = false
  }

  return {
    find,
    open(subject: string, period: BudgetPeriod, began: number): WindowRecord {
      const known = find(subject, period, began)
      if (known !== undefined) return known
      const record = { subject, period, began, spent: 0n, held: 0n, dirty: false }
      return touch(keep(`${subject} ${period} ${began}`, record))
    },
    size: () => windows.size,
    writeJournal(): number {
      let entries = 0
      for (const window of touched) {
        window.isTouched = false
        if (!window.record.dirty) continue
        append(window)
        entries += 1
      }
      touched = []
      return entries
    },
    drop(): void {
      windows.clear()
      touched = []
    },
  }
}
