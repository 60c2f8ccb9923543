// The dashboard's playground: a short-lived key for one operator, so that nobody has to paste a secret. It is an ordinary key with
// narrow limits; its account pays. The account's customer may see the key, so its name does not say whose it is.
import type { Clock } from '../lib/clock.ts'
import type { Actor } from '../store/contract/operator.ts'
import type { KeyMethods, KeyWithSecret } from './keys.ts'

export type PlaygroundMethod = (input: { readonly account_id?: string }, actor: Actor) => Promise<KeyWithSecret>

export type PlaygroundNeeds = {
  readonly keys: Pick<KeyMethods, 'createReplacing'>
  readonly clock: Pick<Clock, 'now'>
}

// With the id of the operator, on every usage row of the key.
const PLAYGROUND_TAG = 'playground'

const NAME = 'Playground'
const VALID_MS = 60 * 60_000
const CREDITS = '1'
const LIMITS = { rpm_limit: 60, max_concurrent: 4, credit_limit: CREDITS } as const
// One for each open tab; beyond that the oldest end.
const KEYS_MAX = 4

export function playgroundMethod({ keys, clock }: PlaygroundNeeds): PlaygroundMethod {
  return async ({ account_id }, actor) => {
    const operator = actor.id ?? 'operator'
    return keys.createReplacing(
      { tag: [PLAYGROUND_TAG, operator], max: KEYS_MAX },
      {
        name: NAME,
        ...(account_id === undefined ? {} : { account_id }),
        ...LIMITS,
        scopes: ['chat.completions', 'models.read'],
        expires_at: new Date(clock.now() + VALID_MS).toISOString(),
        tags: { [PLAYGROUND_TAG]: operator },
      },
      actor,
    )
  }
}
