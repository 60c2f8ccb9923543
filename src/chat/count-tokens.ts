// The tokens of a prompt, for a caller that only asks for them: the count of the provider that would be called first, if it
// offers one, otherwise the tokenizer's. Nothing is held and nothing is charged.
import { byCurrentKey, type CurrentKeyNeeds } from '../admit/reserve.ts'
import type { Chat } from '../domain/chat.ts'
import { Failure, refusalFor } from '../domain/failure.ts'
import type { Pass } from '../domain/handoff.ts'
import { accountMark, identifiersOf } from '../domain/identifiers.ts'
import { MODEL_NAME_MAX, storable } from '../domain/usage.ts'
import { type CountNeeds, countAt } from '../route/count.ts'
import { type PlanNeeds, plan, planRequest } from '../route/plan.ts'
import { promptEstimate, type TokenCounter } from '../settle/estimate.ts'
import { rejectedWith } from '../settle/reason.ts'

export type CountTokensNeeds = PlanNeeds &
  CountNeeds &
  CurrentKeyNeeds & { readonly counter: TokenCounter; readonly hmacKey: Buffer }

export async function countTokens(pass: Pass, chat: Chat, needs: CountTokensNeeds): Promise<number> {
  const accountId = pass.caller.account.id
  pass.modelRequested = storable(chat.model, MODEL_NAME_MAX)
  const identifiers = identifiersOf(chat, accountId, needs.hmacKey)
  const { choice, models } = await byCurrentKey(() => plan(planRequest(pass, chat, identifiers), needs), pass, needs)
  const { requestId, client } = pass.call
  const request = {
    requestId,
    accountId,
    chat,
    identifiers,
    accountMark: accountMark(pass.caller.account, needs.hmacKey),
    client,
  }

  const [first] = choice.queue
  const counted = first === undefined ? undefined : await countAt(first, request, needs)
  if (typeof counted === 'number') return counted
  // The request is invalid; any other failure leaves the count to the tokenizer.
  if (counted instanceof Failure && counted.kind === 'rejected')
    throw rejectedWith(refusalFor([counted]), counted, chat)
  return promptEstimate(chat, models[0], accountId, needs.counter)
}
