// The accounts and keys that one transaction touches: read on first use, changed in memory, written back once at its end.
import type { Nano } from '../domain/credits.ts'
import type { Books, KeyBooks } from './sql/books.ts'
import type { HotStatements } from './sqlite-statements.ts'

export type AccountPage = Books & { readonly id: string; readonly status: string; dirty: boolean }
export type KeyPage = KeyBooks & {
  readonly id: string
  readonly version: number
  readonly dailyLimit: number | null
  readonly expiresAt: number | null
  readonly dead: boolean
  day: number
  dayCount: number
  dirty: boolean
}

export type Desk = ReturnType<typeof openDesk>

export function openDesk(run: HotStatements, now: number) {
  const accounts = new Map<string, AccountPage | undefined>()
  const keys = new Map<string, KeyPage | undefined>()

  function account(id: string): AccountPage | undefined {
    if (!accounts.has(id)) accounts.set(id, readAccount(run.account.get(id)))
    return accounts.get(id)
  }

  function key(id: string): KeyPage | undefined {
    if (!keys.has(id)) keys.set(id, readKey(run.key.get(id)))
    return keys.get(id)
  }

  function pages(accountId: string, keyId: string): { account: AccountPage; key: KeyPage } {
    const found = { account: account(accountId), key: key(keyId) }
    if (found.account === undefined || found.key === undefined)
      throw new Error('a usage row names an unknown account or key')
    return { account: found.account, key: found.key }
  }

  function writeBack(): void {
    for (const page of accounts.values()) {
      if (page?.dirty) run.writeAccount.run(page.available, page.held, page.spent, page.owed, page.id)
    }
    for (const page of keys.values()) {
      if (page?.dirty) run.writeKey.run(page.spent, page.held, page.day, page.dayCount, page.id)
    }
  }

  return { now, account, key, pages, writeBack }
}

function readAccount(row: Record<string, unknown> | undefined): AccountPage | undefined {
  if (row === undefined) return undefined
  const { available, held, spent, owed } = row as Record<string, Nano>
  return {
    id: String(row.id),
    status: String(row.status),
    available: available ?? 0n,
    held: held ?? 0n,
    spent: spent ?? 0n,
    owed: owed ?? 0n,
    dirty: false,
  }
}

function readKey(row: Record<string, unknown> | undefined): KeyPage | undefined {
  if (row === undefined) return undefined
  const numberOrNull = (value: unknown) => (value === null ? null : Number(value))
  return {
    id: String(row.id),
    version: Number(row.version),
    dailyLimit: numberOrNull(row.daily_limit),
    creditLimit: row.credit_limit as Nano | null,
    expiresAt: numberOrNull(row.expires_at),
    dead: row.revoked_at !== null || row.expired_at !== null,
    spent: row.spent as Nano,
    held: row.held as Nano,
    day: Number(row.day),
    dayCount: Number(row.day_count),
    dirty: false,
  }
}
