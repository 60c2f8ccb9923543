// POST /v1/messages/count_tokens: the body of a Messages request, answered with its number of tokens.
import type { EndpointRule } from '../../admit/authorize.ts'
import { type CountTokensNeeds, countTokens } from '../../chat/count-tokens.ts'
import { messagesError } from '../../dialects/messages/errors.ts'
import { parseCounted } from '../../dialects/messages/parse.ts'
import type { BodyMemory } from '../body-memory.ts'
import { type BodyNeeds, readChat } from './completions.ts'
import { exactly, type UnbilledHandler, type UnbilledNeeds, unbilledEndpoint, type V1Endpoint } from './endpoint.ts'

export type CountEndpointNeeds = UnbilledNeeds & CountTokensNeeds & BodyNeeds & { readonly bodies: BodyMemory }

const rule: EndpointRule = {
  endpoint: 'messages.count_tokens',
  method: 'POST',
  scope: 'chat.completions',
  evenIfSuspended: false,
}

export function countTokensEndpoint(needs: CountEndpointNeeds): V1Endpoint {
  const work: UnbilledHandler = async (ctx, pass) => {
    const body = needs.bodies.open(pass.caller.account.id)
    try {
      const chat = await readChat(ctx, parseCounted, body.reserve, needs)
      const tokens = await countTokens(pass, chat, needs)
      return { status: 200, body: () => ({ input_tokens: tokens }) }
    } finally {
      body.release()
    }
  }
  const path = exactly('/v1/messages/count_tokens')
  return { ...unbilledEndpoint(rule, path, work, needs), errorBody: messagesError }
}
