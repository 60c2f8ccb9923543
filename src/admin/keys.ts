// Admin operations on keys. Each commits first and then drops this node's cached record of the key, also when the commit's answer
// was lost: forgetting too much costs one lookup.
import { createHash } from 'node:crypto'
import { type BudgetObject, budgetObject } from '../domain/budget.ts'
import { formatCredits } from '../domain/credits.ts'
import {
  type KeyControls,
  type KeyDefaults,
  type KeyState,
  type KeyStatus,
  type KeyWithSecrets,
  keyLabel,
  keyState,
  keyStatus,
  type Scope,
  SECRET_BYTES,
} from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Tags } from '../domain/tags.ts'
import { isoTime, isoTimeOrNull } from '../domain/wire-time.ts'
import { encodeBase62 } from '../lib/base62.ts'
import type { Clock } from '../lib/clock.ts'
import type { Actor, KeyFilter, Keys, KeysOfTag, NewKey, NewSecret } from '../store/contract/operator.ts'
import { type BudgetInput, readBudgetInputs } from './budgets.ts'
import {
  conflict,
  missing,
  noAccount,
  readCidrs,
  readCreditLimit,
  readFuture,
  readIfMatch,
  readModels,
  readName,
  readTags,
  type SortedList,
  sortedListOf,
  unknown,
  versionMismatch,
} from './input.ts'

export type KeyMethods = {
  create(input: KeyInput, actor: Actor): Promise<KeyWithSecret>
  createReplacing(others: KeysOfTag, input: ExpiringKeyInput, actor: Actor): Promise<KeyWithSecret>
  get(id: string): Promise<KeyObject>
  list(filter: KeyFilter): Promise<SortedList<KeyObject>>
  update(id: string, change: KeyChange, ifMatch: string | undefined, actor: Actor): Promise<KeyObject>
  // With at most this many new secrets within a day.
  rotate(id: string, actor: Actor, perDayMax?: number): Promise<KeyWithSecret>
  endGrace(id: string, last4: string | undefined, actor: Actor): Promise<KeyObject>
  revoke(id: string, abortStreams: boolean, actor: Actor): Promise<KeyObject>
  resetDay(id: string, actor: Actor): Promise<KeyObject>
}

export type KeyNeeds = {
  readonly keys: Keys
  readonly clock: Clock
  readonly brand: { readonly keyPrefix: string }
  readonly defaults: KeyDefaults
  // The account of a key whose creation names none.
  defaultAccountId(): string | undefined
  // A UUIDv7 with dashes.
  newId(): string
  randomBytes(length: number): Uint8Array
  // Drops cached records of the key, on this node and, best effort, on the others.
  forget(keyId: string): void | Promise<void>
  // Its requests per minute may have changed: what was used so far was used under the previous limit.
  onKeyChanged(key: KeyWithSecrets): void | Promise<void>
  abortStreams(keyId: string): void | Promise<void>
}

export function keyMethods(needs: KeyNeeds): KeyMethods {
  const { keys, clock } = needs
  const write = (key: KeyWithSecrets) => keyObject(key, clock.now())

  async function thenForget<T>(id: string, change: Promise<T>): Promise<T> {
    try {
      return await change
    } finally {
      await needs.forget(id)
    }
  }

  function newKey(input: KeyInput): { readonly key: NewKey; readonly secret: string } {
    const id = `key_${needs.newId().replaceAll('-', '')}`
    const accountId = input.account_id ?? needs.defaultAccountId()
    if (accountId === undefined) throw missing('account_id')
    const controls = { ...needs.defaults, ...readKeyChange(input, clock.now()), name: readName(input.name) }
    const { secret, stored } = newKeySecret(needs)
    return { key: { id, accountId, ...controls, secret: stored }, secret }
  }

  return {
    async create(input, actor) {
      const { key: asked, secret } = newKey(input)
      const key = await keys.create(asked, actor)
      if (key === 'no_account') throw noAccount()
      return { ...write(key), secret }
    },

    async createReplacing(others, input, actor) {
      const { secret, key } = newKey(input)
      const made = await keys.createReplacing(others, { ...key, expiresAt: Date.parse(input.expires_at) }, actor)
      if (made === 'no_account') throw noAccount()
      for (const id of made.revoked) await needs.forget(id)
      return { ...write(made.key), secret }
    },

    async get(id) {
      return write(found(await keys.get(id)))
    },

    async list(filter) {
      return sortedListOf(await keys.list(filter), write)
    },

    async update(id, change, ifMatch, actor) {
      const patch = readKeyChange(change, clock.now())
      const key = await thenForget(id, keys.update(id, patch, actor, readIfMatch(ifMatch)))
      if (key === 'changed') throw versionMismatch('key', id)
      if (key === 'revoked') throw conflict('The key is revoked and cannot be changed.')
      if (key !== undefined) await needs.onKeyChanged(key)
      return write(found(key))
    },

    async rotate(id, actor, perDayMax) {
      const { secret, stored } = newKeySecret(needs)
      const key = await thenForget(id, keys.rotate(id, stored, actor, perDayMax))
      if (key === 'too_many_secrets') throw new Refusal('too_many_secrets')
      if (key === 'too_many_today') throw conflict('The key was rotated too often within a day. Try again tomorrow.')
      if (key === 'not_active') throw conflict('Only an active key can be rotated.')
      return { ...write(found(key)), secret }
    },

    async endGrace(id, last4, actor) {
      return write(found(await thenForget(id, keys.endGrace(id, last4, actor))))
    },

    async resetDay(id, actor) {
      return write(found(await thenForget(id, keys.resetDay(id, actor))))
    },

    async revoke(id, abortStreams, actor) {
      const key = found(await thenForget(id, keys.revoke(id, actor, abortStreams)))
      if (abortStreams) await needs.abortStreams(id)
      return write(key)
    },
  }
}

export function newKeySecret({ brand, randomBytes }: Pick<KeyNeeds, 'brand' | 'randomBytes'>): {
  readonly secret: string
  readonly stored: NewSecret
} {
  const secret = brand.keyPrefix + encodeBase62(randomBytes(SECRET_BYTES))
  const hash = createHash('sha256').update(secret).digest('hex')
  return { secret, stored: { hash, prefix: brand.keyPrefix, last4: secret.slice(-4) } }
}

// Only the named fields; an omitted field is unchanged.
export function readKeyChange(change: KeyChange, now: number): Partial<KeyControls> {
  const { credit_limit: creditLimit, scopes } = change
  return {
    ...(change.name === undefined ? {} : { name: readName(change.name) }),
    ...(scopes === undefined ? {} : { scopes: [...new Set(scopes)] }),
    ...(change.ip_allowlist === undefined ? {} : { ipAllowlist: readCidrs(change.ip_allowlist) }),
    ...(change.rpm_limit === undefined ? {} : { rpmLimit: change.rpm_limit }),
    ...(change.daily_limit === undefined ? {} : { dailyLimit: change.daily_limit }),
    ...(creditLimit === undefined
      ? {}
      : { creditLimit: creditLimit === null ? null : readCreditLimit('credit_limit', creditLimit) }),
    ...(change.max_concurrent === undefined ? {} : { maxConcurrent: change.max_concurrent }),
    ...(change.allowed_models === undefined ? {} : { allowedModels: readModels(change.allowed_models) }),
    ...(change.tags === undefined ? {} : { tags: readTags(change.tags) }),
    ...(change.expires_at === undefined ? {} : { expiresAt: readFuture('expires_at', change.expires_at, now) }),
    ...(change.budgets === undefined ? {} : { budgets: readBudgetInputs(change.budgets) }),
  }
}

function found(key: KeyWithSecrets | undefined): KeyWithSecrets {
  if (key === undefined) throw unknown('key')
  return key
}

// Keys as operators send and see them, with the API's field names.
export type KeyChange = {
  readonly name?: string
  readonly scopes?: readonly Scope[]
  readonly ip_allowlist?: readonly string[]
  readonly rpm_limit?: number
  readonly daily_limit?: number | null
  readonly credit_limit?: string | null
  readonly max_concurrent?: number
  readonly expires_at?: string | null
  readonly allowed_models?: readonly string[]
  readonly tags?: Tags
  readonly budgets?: readonly BudgetInput[]
}
export type KeyInput = KeyChange & { readonly name: string; readonly account_id?: string }
export type ExpiringKeyInput = KeyInput & { readonly expires_at: string }

export type KeyObject = {
  readonly object: 'key'
  readonly id: string
  readonly name: string
  readonly label: string
  readonly status: KeyStatus
  // As its status, or what stops an active key.
  readonly state: KeyState
  readonly account_id: string
  readonly scopes: readonly Scope[]
  readonly ip_allowlist: readonly string[]
  readonly rpm_limit: number
  readonly daily_limit: number | null
  readonly credit_limit: string | null
  readonly max_concurrent: number
  readonly allowed_models: readonly string[]
  readonly tags: Tags
  readonly spent: string
  readonly spent_this_month: string
  readonly budgets: readonly BudgetObject[]
  // Incremented with every change of the key or its secrets.
  readonly version: number
  readonly created_at: string
  readonly expires_at: string | null
  readonly revoked_at: string | null
  readonly last_used_at: string | null
  readonly previous: readonly {
    readonly last4: string
    readonly grace_expires_at: string | null
    readonly last_used_at: string | null
  }[]
}
// The only responses that contain a secret: of a creation and of a rotation.
export type KeyWithSecret = KeyObject & { readonly secret: string }

export function keyObject(key: KeyWithSecrets, now: number): KeyObject {
  return {
    object: 'key',
    id: key.id,
    name: key.name,
    label: keyLabel(key),
    status: keyStatus(key, now),
    state: keyState(key, now),
    account_id: key.accountId,
    scopes: key.scopes,
    ip_allowlist: key.ipAllowlist,
    rpm_limit: key.rpmLimit,
    daily_limit: key.dailyLimit,
    credit_limit: key.creditLimit === null ? null : formatCredits(key.creditLimit),
    max_concurrent: key.maxConcurrent,
    allowed_models: key.allowedModels,
    tags: key.tags,
    spent: formatCredits(key.use.spent),
    spent_this_month: formatCredits(key.use.spentThisMonth),
    budgets: key.use.budgetStates.map(budgetObject),
    version: key.version,
    created_at: isoTime(key.createdAt),
    expires_at: isoTimeOrNull(key.expiresAt),
    revoked_at: isoTimeOrNull(key.revokedAt),
    last_used_at: isoTimeOrNull(key.lastUsedAt),
    previous: key.previous.map(secret => ({
      last4: secret.last4,
      grace_expires_at: isoTimeOrNull(secret.graceExpiresAt),
      last_used_at: isoTimeOrNull(secret.lastUsedAt),
    })),
  }
}
