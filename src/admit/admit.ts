// Admission, decided from the headers alone: key, address, account, path, method, scope, limits, in this order. A
// stranger's body is never read.
import type { Call, Pass } from '../domain/handoff.ts'
import type { Bearer } from '../domain/key.ts'
import type { RequestFacts } from '../domain/usage.ts'
import type { Gates } from '../store/contract.ts'
import type { Authenticator } from './authenticate.ts'
import type { Limits } from './limit.ts'
import { type EndpointRule, permit } from './permit.ts'

export type AdmitNeeds = {
  readonly authenticator: Authenticator
  readonly limits: Limits
  readonly gates: Pick<Gates, 'touch'>
  // Told as soon as the key is known, so that a refusal's headers and row can speak of it. The bearer may be replaced
  // later, as the pass's is.
  readonly recognised: (known: Known, facts: () => RequestFacts) => void
}

// Who calls, and whether its request has a row: both may change until the request is over.
export type Known = { readonly bearer: Bearer; readonly hasRow: boolean }

export async function admit(call: Call, rule: EndpointRule | undefined, needs: AdmitNeeds): Promise<Pass> {
  const { bearer, hash } = await needs.authenticator.authenticate(call)
  const facts = () => factsOf(call, pass.bearer, rule)
  const pass: { -readonly [Field in keyof Pass]: Pass[Field] } = {
    call,
    endpoint: rule?.endpoint ?? 'unknown',
    bearer,
    hash,
    hasRow: false,
    facts,
    giveBack: nothing,
    leave: nothing,
  }
  needs.recognised(pass, facts)

  const { endpoint } = permit(call, bearer, rule)
  const { giveBack, leave } = needs.limits.enter(bearer, endpoint)
  pass.giveBack = giveBack
  pass.leave = leave
  needs.gates.touch(hash, call.receivedAt)
  return pass
}

function nothing(): void {}

function factsOf(call: Call, bearer: Bearer, rule: EndpointRule | undefined): RequestFacts {
  return {
    requestId: call.requestId,
    clientRequestId: call.clientRequestId,
    accountId: bearer.account.id,
    keyId: bearer.key.id,
    secretLast4: bearer.secret.last4,
    endpoint: rule?.endpoint ?? 'unknown',
    clientIp: call.address?.text ?? 'unknown',
    createdAt: call.receivedAt,
  }
}
