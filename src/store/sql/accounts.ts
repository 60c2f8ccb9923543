// Accounts and their credits in SQL. Balances change only by deltas in one conditional statement; a balance that was read is never
// written back.
import { writeBudgets } from '../../domain/budget.ts'
import { formatCredits, NANO_MAX } from '../../domain/credits.ts'
import type { Account, AccountStatus, PortalKeyLimits } from '../../domain/key.ts'
import { readKeyLimits, type WrittenKeyLimits, writeKeyLimits } from '../../domain/portal-key-limits.ts'
import { parseBudgets } from '../billing/budgets.ts'
import type { AccountSort, Accounts, Actor, LedgerEntry, NewCredits } from '../contract/operator.ts'
import { emitPassed, monthSpending, readStates, setWindows } from './budgets.ts'
import { containing } from './conditions.ts'
import { appendEvent } from './events.ts'
import { ENTRY, listLedger, readEntry } from './ledger.ts'
import { emit } from './outbox.ts'
import { endPortalSessions } from './portal.ts'
import { type Search, type SortedBy, searchNewest, searchSorted } from './search.ts'
import { big, bigOrNull, int, type Row, type Sql, type Tx, text, textOrNull } from './sql.ts'

const ACCOUNT =
  'id, name, status, version, available, held, spent, owed, month, month_base, budgets, low_balance, contact_email, external_id, portal_key_limits, created_at'

const SORTED_BY: Readonly<Record<AccountSort, SortedBy>> = {
  name: { by: 'lower(name)', type: 'text' },
  available: { by: '(available - owed)', type: 'number' },
  spent: { by: 'spent', type: 'number' },
}

export function sqlAccounts(sql: Sql): Accounts {
  return {
    create: (input, actor) =>
      sql.transaction(async tx => {
        const { id, ...rest } = input
        await tx.run(
          `INSERT INTO account (id, name, budgets, low_balance, contact_email, external_id, portal_key_limits, created_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
          [
            id,
            input.name,
            writeBudgets(input.budgets ?? []),
            input.lowBalance ?? null,
            input.contactEmail ?? null,
            input.externalId ?? null,
            storedLimits(input.portalKeyLimits ?? null),
            tx.now(),
          ],
        )
        await appendEvent(tx, actor, 'account.create', id, rest)
        return readOne(tx, (await tx.get(`SELECT ${ACCOUNT} FROM account WHERE id = $1`, [id]))!)
      }),

    async get(id) {
      const row = await sql.get(`SELECT ${ACCOUNT} FROM account_now WHERE id = $1`, [id])
      return row === undefined ? undefined : readOne(sql, row)
    },

    async list({ limit, after, status, name, externalId, q, sorting }) {
      const words = q === undefined ? undefined : containing(q)
      const search: Search = {
        columns: ACCOUNT,
        table: 'account_now',
        id: 'id',
        after,
        indexed(asked) {
          asked.add('external_id = ?', externalId)
          asked.add('id IN (SELECT id FROM account WHERE lower(name) = lower(?))', name)
        },
        compared(asked) {
          asked.add('status = ?', status)
          asked.add('name = ?', name)
          asked.add(
            `(lower(name) LIKE lower(?) ESCAPE '!' OR lower(id) LIKE lower(?) ESCAPE '!'
              OR lower(contact_email) LIKE lower(?) ESCAPE '!' OR lower(external_id) LIKE lower(?) ESCAPE '!')`,
            ...[words, words, words, words],
          )
        },
      }
      if (sorting === undefined) {
        const rows = await searchNewest(search, limit + 1, sql)
        return { data: await readAccounts(sql, rows.slice(0, limit)), hasMore: rows.length > limit }
      }
      const { rows, placeAfter } = await searchSorted(search, { ...sorting, ...SORTED_BY[sorting.by] }, limit + 1, sql)
      const hasMore = rows.length > limit
      const next = hasMore ? placeAfter(rows[limit - 1]) : null
      return { data: await readAccounts(sql, rows.slice(0, limit)), hasMore, next }
    },

    update: (id, patch, actor, basedOn) => sql.transaction(tx => update(tx, id, patch, actor, basedOn)),

    addCredits: (input, actor) => sql.transaction(tx => addCredits(tx, input, actor)),

    async ledger(accountId, filter) {
      const known = await sql.get('SELECT id FROM account WHERE id = $1', [accountId])
      if (known === undefined) return undefined
      return listLedger(accountId, filter, sql)
    },
  }
}

async function update(
  tx: Tx,
  id: string,
  patch: Parameters<Accounts['update']>[1],
  actor: Actor,
  basedOn: number | undefined,
): Promise<Account | 'changed' | undefined> {
  // Locked by an update, so that batches wait until its windows are what its rows say.
  await tx.run('UPDATE account SET version = version WHERE id = $1', [id])
  const before = await tx.get(`SELECT ${ACCOUNT} FROM account WHERE id = $1`, [id])
  if (before === undefined) return undefined
  if (basedOn !== undefined && basedOn !== int(before.version)) return 'changed'
  const row = await tx.get(
    `UPDATE account SET name = COALESCE($1, name), status = COALESCE($2, status), budgets = COALESCE($3, budgets),
       low_balance = $4, contact_email = $5, external_id = $6, portal_key_limits = $7, version = version + 1
     WHERE id = $8 RETURNING ${ACCOUNT}`,
    [
      patch.name ?? null,
      patch.status ?? null,
      patch.budgets === undefined ? null : writeBudgets(patch.budgets),
      patch.lowBalance === undefined ? bigOrNull(before.low_balance) : patch.lowBalance,
      patch.contactEmail === undefined ? textOrNull(before.contact_email) : patch.contactEmail,
      patch.externalId === undefined ? textOrNull(before.external_id) : patch.externalId,
      patch.portalKeyLimits === undefined ? textOrNull(before.portal_key_limits) : storedLimits(patch.portalKeyLimits),
      id,
    ],
  )
  await appendEvent(tx, actor, 'account.update', id, patch)
  if (patch.status === 'suspended') await endPortalSessions(tx, id)
  if (patch.budgets !== undefined) {
    const subject = { object: 'account', id, accountId: id } as const
    await setWindows(tx, subject, parseBudgets(text(before.budgets)), patch.budgets)
    await emitPassed(tx, subject, budgetedOf(row!))
  }
  return readOne(tx, row!)
}

// The account is locked first, so that of two calls with the same idempotency key the second sees the first one's entry.
async function addCredits(
  tx: Tx,
  input: NewCredits,
  actor: Actor,
): Promise<LedgerEntry | 'mismatch' | 'too_low' | 'too_high' | undefined> {
  const { id, accountId, amount, note, idempotencyKey } = input
  if ((await tx.run('UPDATE account SET name = name WHERE id = $1', [accountId])) === 0) return undefined
  const before = await tx.get(`SELECT ${ENTRY} FROM ledger WHERE account_id = $1 AND idempotency_key = $2`, [
    accountId,
    idempotencyKey,
  ])
  if (before !== undefined) {
    const entry = readEntry(before)
    return entry.amount === amount && entry.note === note ? entry : 'mismatch'
  }

  if (!(amount > 0n ? await topUp(tx, accountId, amount) : await takeAway(tx, accountId, -amount))) {
    return amount > 0n ? 'too_high' : 'too_low'
  }
  const kind = amount > 0n ? 'topup' : 'adjustment'
  await tx.run(
    `INSERT INTO ledger (account_id, id, kind, amount, note, idempotency_key, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [accountId, id, kind, amount, note, idempotencyKey, tx.now()],
  )
  await appendEvent(tx, actor, `account.${kind}`, accountId, { entry: id, amount: formatCredits(amount), note })
  await emitAdded(tx, { id, accountId, amount, note, kind })
  return { id, accountId, kind, amount, requestId: null, note, createdAt: tx.now(), charged: null }
}

async function emitAdded(tx: Tx, { id, accountId, amount, note, kind }: EventEntry): Promise<void> {
  const row = await tx.get('SELECT name, available FROM account WHERE id = $1', [accountId])
  await emit(tx, {
    type: 'credits.added',
    accountId,
    once: null,
    data: {
      account_id: accountId,
      account_name: text(row?.name),
      entry_id: id,
      kind,
      amount: formatCredits(amount),
      available: formatCredits(big(row?.available)),
      note,
    },
  })
}

type EventEntry = Pick<NewCredits, 'id' | 'accountId' | 'amount' | 'note'> & { readonly kind: 'topup' | 'adjustment' }

// Debts first. Held credits count towards the maximum, since all may be released. The maximum is computed here so that no sum in
// SQL exceeds 64 bits.
async function topUp(tx: Tx, accountId: string, amount: bigint): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE account SET
       available = CASE WHEN owed >= $1 THEN available ELSE available + ($1 - owed) END,
       owed = CASE WHEN owed >= $1 THEN owed - $1 ELSE 0 END
     WHERE id = $2 AND available - owed + held <= $3`,
    [amount, accountId, NANO_MAX - amount],
  )
  return changed > 0
}

async function takeAway(tx: Tx, accountId: string, amount: bigint): Promise<boolean> {
  const changed = await tx.run('UPDATE account SET available = available - $1 WHERE id = $2 AND available >= $1', [
    amount,
    accountId,
  ])
  return changed > 0
}

async function readOne(tx: Tx, row: Row): Promise<Account> {
  return (await readAccounts(tx, [row]))[0]!
}

async function readAccounts(tx: Tx, rows: readonly Row[]): Promise<readonly Account[]> {
  const states = await readStates(tx, rows.map(budgetedOf))
  return rows.map(row => ({
    id: text(row.id),
    name: text(row.name),
    status: text(row.status) as AccountStatus,
    balance: { available: big(row.available), held: big(row.held), spent: big(row.spent), owed: big(row.owed) },
    spentThisMonth: monthSpending(row, tx.now()),
    budgets: parseBudgets(text(row.budgets)),
    budgetStates: states.get(text(row.id)) ?? [],
    lowBalance: bigOrNull(row.low_balance),
    contactEmail: textOrNull(row.contact_email),
    externalId: textOrNull(row.external_id),
    portalKeyLimits: limitsOf(textOrNull(row.portal_key_limits)),
    version: int(row.version),
    createdAt: int(row.created_at),
  }))
}

function storedLimits(limits: PortalKeyLimits | null): string | null {
  return limits === null ? null : JSON.stringify(writeKeyLimits(limits))
}

function limitsOf(stored: string | null): PortalKeyLimits | null {
  return stored === null ? null : readKeyLimits(JSON.parse(stored) as WrittenKeyLimits)
}

function budgetedOf(row: Row) {
  const [id, name, budgets] = [text(row.id), text(row.name), parseBudgets(text(row.budgets))]
  return { id, name, budgets, spent: big(row.spent), held: big(row.held) }
}
