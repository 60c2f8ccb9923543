// Admin operations on accounts, their credits and their ledger.
import { type BudgetObject, budgetObject } from '../domain/budget.ts'
import { formatCredits, type Nano } from '../domain/credits.ts'
import {
  type Account,
  type AccountState,
  type AccountStatus,
  accountState,
  type PortalKeyLimits,
} from '../domain/key.ts'
import { type WrittenKeyLimits, writeKeyLimits } from '../domain/portal-key-limits.ts'
import { Refusal } from '../domain/refusal.ts'
import { isoTime } from '../domain/wire-time.ts'
import type { AccountFilter, Accounts, Actor, LedgerEntry, LedgerKind, Page } from '../store/contract/operator.ts'
import { type BudgetInput, readBudgetInputs } from './budgets.ts'
import {
  conflict,
  EMAIL_MAX,
  EXTERNAL_ID_MAX,
  type List,
  listOf,
  missing,
  readCreditLimit,
  readCredits,
  readIfMatch,
  readModels,
  readName,
  readNote,
  readRange,
  type SortedList,
  sortedListOf,
  unknown,
  versionMismatch,
  wrong,
} from './input.ts'

export type AccountSettings = {
  readonly budgets?: readonly BudgetInput[]
  // An event is raised when less is available; null: never.
  readonly low_balance?: string | null
  readonly contact_email?: string | null
  // Its id in the operator's own system.
  readonly external_id?: string | null
  // Of keys that customers create in the portal; null: none of their own.
  readonly portal_key_limits?: Partial<WrittenKeyLimits> | null
}
export type AccountInput = AccountSettings & { readonly name: string }
export type AccountChange = AccountSettings & { readonly name?: string; readonly status?: AccountStatus }
export type CreditsInput = { readonly amount: string; readonly note?: string | null }

export type AccountObject = {
  readonly object: 'account'
  readonly id: string
  readonly name: string
  readonly status: AccountStatus
  // As its status, or what stops an active account.
  readonly state: AccountState
  readonly balance: { readonly available: string; readonly held: string; readonly spent: string; readonly owed: string }
  readonly spent: string
  readonly spent_this_month: string
  readonly budgets: readonly BudgetObject[]
  readonly low_balance: string | null
  readonly contact_email: string | null
  readonly external_id: string | null
  readonly portal_key_limits: WrittenKeyLimits | null
  readonly version: number
  readonly created_at: string
}

export type LedgerObject = {
  readonly object: 'ledger_entry'
  readonly id: string
  readonly account_id: string
  readonly kind: LedgerKind
  readonly amount: string
  // After it: the available and held credits, less what is owed. Only in lists.
  readonly balance: string | null
  readonly request_id: string | null
  readonly note: string | null
  readonly created_at: string
  // Of a charge: the day whose requests it sums up, their number, and how many of them failed or were refused.
  readonly from: string | null
  readonly to: string | null
  readonly requests: number | null
  readonly errors: number | null
}

export type LedgerQuery = { readonly kind?: LedgerKind; readonly from?: string; readonly to?: string }

export type AccountMethods = {
  create(input: AccountInput, actor: Actor): Promise<AccountObject>
  get(id: string): Promise<AccountObject>
  list(filter: AccountFilter): Promise<SortedList<AccountObject>>
  update(id: string, change: AccountChange, ifMatch: string | undefined, actor: Actor): Promise<AccountObject>
  addCredits(id: string, input: CreditsInput, idempotencyKey: string | undefined, actor: Actor): Promise<LedgerObject>
  // `last`: of the page before, which ends with it.
  ledger(id: string, query: LedgerQuery, page: Page, last?: LedgerObject): Promise<List<LedgerObject>>
}

export type AccountNeeds = {
  readonly accounts: Accounts
  // A UUIDv7 with dashes.
  newId(): string
  // Drops cached records of the account's keys, on this node and, best effort, on the others.
  forgetAccount(accountId: string): void | Promise<void>
}

export function accountMethods(needs: AccountNeeds): AccountMethods {
  const { accounts } = needs
  return {
    async create(input, actor) {
      const id = `acct_${needs.newId().replaceAll('-', '')}`
      return accountObject(await accounts.create({ id, name: readName(input.name), ...readSettings(input) }, actor))
    },

    async get(id) {
      return accountObject(found(await accounts.get(id)))
    },

    async list(filter) {
      return sortedListOf(await accounts.list(filter), accountObject)
    },

    async update(id, change, ifMatch, actor) {
      const basedOn = readIfMatch(ifMatch)
      if (Object.values(change).every(value => value === undefined)) return accountObject(await unchanged(id, basedOn))
      const { name, status } = change
      const patch = { name: name === undefined ? undefined : readName(name), status, ...readSettings(change) }
      try {
        const account = await accounts.update(id, patch, actor, basedOn)
        if (account === 'changed') throw versionMismatch('account', id)
        return accountObject(found(account))
      } finally {
        // Also when the commit's answer was lost: forgetting too much costs one lookup.
        await needs.forgetAccount(id)
      }
    },

    async addCredits(accountId, input, idempotencyKey, actor) {
      const amount = readCredits('amount', input.amount)
      if (amount === 0n) throw wrong('amount', 'a nonzero amount')
      const once = readIdempotencyKey(idempotencyKey)
      const credits = { id: needs.newId(), accountId, amount, note: readNote(input.note), idempotencyKey: once }
      const entry = await accounts.addCredits(credits, actor)
      if (entry === undefined) throw unknown('account')
      if (entry === 'mismatch') throw new Refusal('idempotency_mismatch')
      if (entry === 'too_low') throw conflict('The account does not have this many credits available.', 'amount')
      if (entry === 'too_high') throw conflict('The balance would exceed the maximum.', 'amount')
      return ledgerObject(entry)
    },

    async ledger(accountId, query, page, last) {
      const filter = { kind: query.kind, ...readRange(query), ...page, balanceBefore: last && balanceBefore(last) }
      const entries = await accounts.ledger(accountId, filter)
      if (entries === undefined) throw unknown('account')
      return listOf(entries, entry => ledgerObject(entry, entry.balance))
    },
  }

  // An empty change returns the current state, if its version matches.
  async function unchanged(id: string, basedOn: number | undefined): Promise<Account> {
    const account = found(await accounts.get(id))
    if (basedOn !== undefined && basedOn !== account.version) throw versionMismatch('account', id)
    return account
  }
}

function readSettings(settings: AccountSettings) {
  const { budgets, low_balance: low, contact_email: email, external_id: external, portal_key_limits: limits } = settings
  return {
    ...(budgets === undefined ? {} : { budgets: readBudgetInputs(budgets) }),
    ...(low === undefined ? {} : { lowBalance: low === null ? null : readThreshold(low) }),
    ...(email === undefined ? {} : { contactEmail: email === null ? null : readEmail(email) }),
    ...(external === undefined ? {} : { externalId: external === null ? null : readExternalId(external) }),
    ...(limits === undefined ? {} : { portalKeyLimits: limits === null ? null : readPortalKeyLimits(limits) }),
  }
}

// The whole of it; what is absent is not limited.
function readPortalKeyLimits(limits: Partial<WrittenKeyLimits>): PortalKeyLimits {
  const credits = limits.credit_limit ?? null
  return {
    maxKeys: limits.max_keys ?? null,
    rpmLimit: limits.rpm_limit ?? null,
    dailyLimit: limits.daily_limit ?? null,
    maxConcurrent: limits.max_concurrent ?? null,
    creditLimit: credits === null ? null : readCreditLimit('portal_key_limits.credit_limit', credits),
    expiresInDays: limits.expires_in_days ?? null,
    allowedModels: readModels(limits.allowed_models ?? [], 'portal_key_limits.allowed_models'),
  }
}

// Whether mail arrives is known only to those who send it.
function readEmail(text: string): string {
  const email = text.trim()
  if (email.length > EMAIL_MAX || !/^[^\s@]+@[^\s@]+$/.test(email) || /\p{Cc}/u.test(email) || !email.isWellFormed()) {
    throw wrong('contact_email', `an e-mail address of at most ${EMAIL_MAX} characters, or null`)
  }
  return email
}

function readExternalId(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text) || text.length > EXTERNAL_ID_MAX) {
    throw wrong('external_id', `1 to ${EXTERNAL_ID_MAX} visible ASCII characters, or null`)
  }
  return text
}

function readThreshold(text: string): Nano {
  const threshold = readCredits('low_balance', text)
  if (threshold <= 0n) throw wrong('low_balance', 'more than zero, or null')
  return threshold
}

function readIdempotencyKey(text: string | undefined): string {
  if (text === undefined || text === '') throw missing('Idempotency-Key')
  if (!/^[\x20-\x7e]{1,255}$/.test(text)) throw wrong('Idempotency-Key', '1 to 255 visible ASCII characters')
  return text
}

function found(account: Account | undefined): Account {
  if (account === undefined) throw unknown('account')
  return account
}

function accountObject(account: Account): AccountObject {
  const { id, name, status, balance, version, createdAt } = account
  return {
    object: 'account',
    id,
    name,
    status,
    state: accountState(account),
    balance: {
      available: formatCredits(balance.available),
      held: formatCredits(balance.held),
      spent: formatCredits(balance.spent),
      owed: formatCredits(balance.owed),
    },
    spent: formatCredits(balance.spent),
    spent_this_month: formatCredits(account.spentThisMonth),
    budgets: account.budgetStates.map(budgetObject),
    low_balance: account.lowBalance === null ? null : formatCredits(account.lowBalance),
    contact_email: account.contactEmail,
    external_id: account.externalId,
    portal_key_limits: account.portalKeyLimits === null ? null : writeKeyLimits(account.portalKeyLimits),
    version,
    created_at: isoTime(createdAt),
  }
}

function balanceBefore({ balance, amount }: LedgerObject): Nano | undefined {
  return balance === null ? undefined : readCredits('balance', balance) - readCredits('amount', amount)
}

function ledgerObject(entry: LedgerEntry, balance?: Nano): LedgerObject {
  return {
    object: 'ledger_entry',
    id: entry.id,
    account_id: entry.accountId,
    kind: entry.kind,
    amount: formatCredits(entry.amount),
    balance: balance === undefined ? null : formatCredits(balance),
    request_id: entry.requestId,
    note: entry.note,
    created_at: isoTime(entry.createdAt),
    from: entry.charged && isoTime(entry.charged.from),
    to: entry.charged && isoTime(entry.charged.to),
    requests: entry.charged?.requests ?? null,
    errors: entry.charged?.errors ?? null,
  }
}
