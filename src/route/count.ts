// Asks one target for the tokens of a prompt. It generates nothing, so its failures say nothing about the target.
import type { Chat } from '../domain/chat.ts'
import { Failure } from '../domain/failure.ts'
import type { Client } from '../domain/handoff.ts'
import type { Registry } from '../upstream/registry.ts'
import { beginAttempt, discardAttempt } from './attempt-lease.ts'
import type { Candidate, Targets } from './targets.ts'

export type CountRequest = {
  readonly requestId: string
  readonly accountId: string
  readonly chat: Chat
  readonly identifiers: Readonly<Record<string, string>>
  readonly accountMark: string
  readonly client: Client
}

export type CountNeeds = { readonly adapters: Registry; readonly targets: Targets }

// Undefined: its protocol has no count, or it cannot be called now.
export async function countAt(
  candidate: Candidate,
  request: CountRequest,
  { adapters, targets }: CountNeeds,
): Promise<number | Failure | undefined> {
  const { provider, target, model } = candidate
  const { countTokens } = adapters.get(provider)
  if (countTokens === undefined) return undefined
  const { accountId, client, ...sent } = request
  const lease = beginAttempt(candidate, { accountId, stickTo: undefined, evenBarred: false, tried: [] }, targets)
  if (lease === undefined) return undefined
  let forget: () => void = () => undefined
  try {
    return await new Promise(resolve => {
      const upstreamRequest = {
        ...sent,
        accountId,
        credential: lease.credentialState.credential,
        model: target.model,
        outputTokens: null,
        outputBound: model.maxOutputTokens,
        totalMsMax: targets.bounds.probeTimeoutMs,
        onSent: () => undefined,
      }
      const call = countTokens(upstreamRequest, resolve)
      forget = client.onGone(() => {
        call.abort()
        resolve(new Failure('cancelled', 'the caller left'))
      })
    })
  } finally {
    forget()
    discardAttempt(lease)
  }
}
