// Creates a key for a customer: within the limits that the operator has set on the account, exactly, however many calls race.
import { conflict, readName, unknown, wrong } from '../admin/input.ts'
import { type KeyChange, type KeyWithSecret, keyObject, newKeySecret, readKeyChange } from '../admin/keys.ts'
import type { KeyControls, KeyDefaults } from '../domain/key.ts'
import { PORTAL_KEYS_MAX, withinLimits } from '../domain/portal-key-limits.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Clock } from '../lib/clock.ts'
import type { Accounts, Actor, Keys } from '../store/contract/operator.ts'

export type NewKeyInput = Omit<KeyChange, 'name' | 'tags'> & { readonly name: string }

export type NewKeyNeeds = {
  readonly keys: Pick<Keys, 'createWithin'>
  readonly accounts: Pick<Accounts, 'get'>
  readonly clock: Clock
  readonly brand: { readonly keyPrefix: string }
  readonly defaults: KeyDefaults
  newId(): string
  randomBytes(length: number): Uint8Array
}

export type CreateKey = (accountId: string, input: NewKeyInput, actor: Actor) => Promise<KeyWithSecret>

// An operator may change the limits between reading and applying them.
const TRIES_MAX = 5

export function newPortalKey(needs: NewKeyNeeds): CreateKey {
  async function create(accountId: string, input: NewKeyInput, actor: Actor): Promise<KeyWithSecret | 'changed'> {
    const account = await needs.accounts.get(accountId)
    if (account === undefined) throw unknown('account')
    const { version, portalKeyLimits } = account
    const now = needs.clock.now()
    const allowed = withinLimits(readKeyChange(input, now), needs.defaults, portalKeyLimits, now)
    if ('fault' in allowed) throw wrong(PARAMS[allowed.fault.field] ?? allowed.fault.field, allowed.fault.expected)
    const { secret, stored } = newKeySecret(needs)
    const key = await needs.keys.createWithin(
      { accountVersion: version, activeMax: portalKeyLimits?.maxKeys ?? PORTAL_KEYS_MAX },
      {
        id: `key_${needs.newId().replaceAll('-', '')}`,
        accountId,
        ...needs.defaults,
        ...allowed.controls,
        name: readName(input.name),
        secret: stored,
      },
      actor,
    )
    if (typeof key === 'object') return { ...keyObject(key, now), secret }
    if (key === 'changed') return key
    throw refusalOf[key]()
  }

  return async (accountId, input, actor) => {
    for (let tries = 1; tries <= TRIES_MAX; tries++) {
      const key = await create(accountId, input, actor)
      if (key !== 'changed') return key
    }
    throw conflict('The account is being changed. Try again.')
  }
}

const PARAMS: Partial<Record<keyof KeyControls, string>> = {
  rpmLimit: 'rpm_limit',
  dailyLimit: 'daily_limit',
  maxConcurrent: 'max_concurrent',
  creditLimit: 'credit_limit',
  expiresAt: 'expires_at',
  allowedModels: 'allowed_models',
}

const refusalOf = {
  no_account: () => unknown('account'),
  suspended: () => new Refusal('account_suspended', { message: 'This account is suspended.' }),
  too_many: () => conflict('This account already has as many active keys as it may have. Revoke one first.'),
  too_many_today: () => conflict('Too many keys were created within a day. Try again tomorrow.'),
} as const
