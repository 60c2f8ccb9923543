// POST /v1/chat/completions: reads and validates the body of an admitted call and runs it.

import type { EndpointRule } from '../../admit/authorize.ts'
import { complete, type GatewayNeeds } from '../../chat/complete.ts'
import type { Nano } from '../../domain/credits.ts'
import type { Pass } from '../../domain/handoff.ts'
import { MODEL_NAME_MAX, storable } from '../../domain/usage.ts'
import type { Served } from '../../telemetry/request-report.ts'
import type { BodyMemory } from '../body-memory.ts'
import { jsonSink, type Pace } from '../json-sink.ts'
import type { Case, ReplyNeeds } from '../response.ts'
import { sseSink } from '../sse-sink.ts'
import { type ChatBodyNeeds, readChat } from './chat-body.ts'
import { CHATS, exactly, type V1Endpoint } from './endpoint.ts'

export type ChatNeeds = GatewayNeeds &
  ChatBodyNeeds & {
    readonly bodies: BodyMemory
    readonly reply: ReplyNeeds
    readonly pace: Pace
    readonly streams: { delta(by: 1 | -1): void }
    // Whether callers may request an explanation of the routing, and by which header, in lower case.
    readonly explainAllowed: boolean
    readonly explainHeader: string
  }

const rule: EndpointRule = {
  endpoint: 'chat.completions',
  method: 'POST',
  scope: 'chat.completions',
  evenIfSuspended: false,
}

export function chatCompletions(needs: ChatNeeds): V1Endpoint {
  return { rule, match: exactly(CHATS), serve: (it, pass) => serve(it, pass, needs) }
}

async function serve(it: Case, pass: Pass, needs: ChatNeeds): Promise<Served> {
  const body = needs.bodies.open(pass.bearer.account.id)
  let stream = false
  try {
    const read = readChat(it, body.reserve, needs)
    const chat = read instanceof Promise ? await read : read
    pass.modelRequested = storable(chat.model, MODEL_NAME_MAX)
    pass.stream = stream = chat.stream
    const connection = {
      sink(model: { readonly id: string }, outputCap: number | null) {
        const { reply, pace, timers } = needs
        const setup = { it, model: model.id, explain: wantsExplanation(it, needs), outputCap, reply, pace, timers }
        return chat.stream ? sseSink(setup, chat.includeUsage) : jsonSink(setup)
      },
      booked(cost: Nano) {
        it.booked = cost
      },
      afterSent(listener: () => void) {
        if (it.call.client.gone || it.res.destroyed) listener()
        else it.res.once('close', listener)
      },
    }
    if (stream) needs.streams.delta(1)
    const done = await complete(pass, rule, chat, connection, needs)
    const { receipt, refusal, httpStatus } = done.ending
    return {
      status: httpStatus,
      outcome: receipt.outcome,
      model: done.model.id,
      provider: done.provider,
      stream,
      tokens: receipt.tokens,
      cost: receipt.cost,
      errorCode: refusal?.code,
      firstByteMs: done.firstByteAt === null ? undefined : done.firstByteAt - it.call.receivedAt,
    }
  } finally {
    if (stream) needs.streams.delta(-1)
    body.release()
  }
}

function wantsExplanation(it: Case, { explainAllowed, explainHeader }: ChatNeeds): boolean {
  return explainAllowed && it.req.headers[explainHeader] === '1'
}
