// Admission, decided from the headers alone: key, address, account, path, method, scope, limits, in this order. The body of an
// unauthenticated caller is never read.
import type { Call, Pass } from '../domain/handoff.ts'
import type { AuthenticatedKey } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import { rowTags } from '../domain/tags.ts'
import type { RequestFacts } from '../domain/usage.ts'
import type { BillingStore } from '../store/contract/store.ts'
import type { Authenticator } from './authenticate.ts'
import { authorize, type EndpointRule } from './authorize.ts'
import type { Entered, Limits } from './rate-limit.ts'

export type AdmitNeeds = {
  readonly authenticator: Authenticator
  readonly limits: Limits
  readonly billing: Pick<BillingStore, 'touch'>
  // Called as soon as the key is known, so that a refusal's headers and row can refer to it. The key record may be replaced
  // later, like the pass's.
  readonly recognised: (known: Known) => void
}

// The caller's key record and whether the request has a row: both may change until the request is over.
export type Known = Readonly<Pick<Pass, 'caller' | 'hasRow' | 'facts'>>

export async function admit(call: Call, rule: EndpointRule | undefined, needs: AdmitNeeds): Promise<Pass> {
  const found = needs.authenticator.authenticate(call)
  const { caller, isCached } = found instanceof Promise ? await found : found
  const pass: Admitted = {
    call,
    endpoint: rule?.endpoint ?? 'unknown',
    caller,
    hash: caller.lastUse.hash,
    hasRow: false,
    modelRequested: null,
    stream: false,
    facts: () => factsOf(call, pass.caller, rule),
    giveBack: nothing,
    leave: nothing,
  }
  needs.recognised(pass)

  try {
    const { endpoint } = authorize(call, caller, rule)
    const entered = needs.limits.enter(caller, endpoint)
    seat(pass, entered instanceof Promise ? await entered : entered)
  } catch (error) {
    await reconsider(error, pass, rule, isCached, needs)
  }
  needs.billing.touch(caller.lastUse, call.receivedAt)
  return pass
}

type Admitted = { -readonly [Field in keyof Pass]: Pass[Field] }

function seat(pass: Admitted, { giveBack, leave }: Entered): void {
  pass.giveBack = giveBack
  pass.leave = leave
}

// Another node may have changed the key since this one cached it: a cached refusal stands only after a record read after the
// request arrived gives the same result.
async function reconsider(
  error: unknown,
  pass: Admitted,
  rule: EndpointRule | undefined,
  isCached: boolean,
  needs: AdmitNeeds,
): Promise<void> {
  if (!(error instanceof Refusal)) throw error
  let refusal = error
  if (isCached && needs.authenticator.othersMayChangeKeys) {
    const before = pass.caller
    pass.caller = await needs.authenticator.again(pass.call, pass.hash, { since: pass.call.startedMs, known: before })
    if (differs(before, pass.caller)) {
      try {
        const { endpoint } = authorize(pass.call, pass.caller, rule)
        return seat(pass, await needs.limits.enter(pass.caller, endpoint))
      } catch (now) {
        if (!(now instanceof Refusal)) throw now
        refusal = now
      }
    }
  }
  // Refused before its limits, it has not read the shared bucket yet, and its headers report it.
  if (refusal.status !== 429) await needs.limits.look?.(pass.caller.key)
  throw refusal
}

// The account's status is not part of the key's version.
function differs(before: AuthenticatedKey, now: AuthenticatedKey): boolean {
  return before.key.version !== now.key.version || before.account.status !== now.account.status
}

function nothing(): void {}

function factsOf(call: Call, caller: AuthenticatedKey, rule: EndpointRule | undefined): RequestFacts {
  return {
    requestId: call.requestId,
    clientRequestId: call.clientRequestId,
    accountId: caller.account.id,
    keyId: caller.key.id,
    secretLast4: caller.secret.last4,
    endpoint: rule?.endpoint ?? 'unknown',
    clientIp: call.address?.text ?? 'unknown',
    createdAt: call.receivedAt,
    tags: rowTags(caller.key.tags, call.tags),
  }
}
