// POST /v1/chat/completions: reads and validates the body of an admitted call and runs it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EndpointRule } from '../../admit/authorize.ts'
import { complete, type GatewayNeeds } from '../../chat/complete.ts'
import { parseChat } from '../../chat/parse-request.ts'
import type { Chat } from '../../domain/chat.ts'
import type { Nano } from '../../domain/credits.ts'
import type { Pass } from '../../domain/handoff.ts'
import { MODEL_NAME_MAX, storable } from '../../domain/usage.ts'
import type { CoarseTimers } from '../../lib/coarse-timers.ts'
import type { Served } from '../../telemetry/request-log.ts'
import type { BodyMemory } from '../body-memory.ts'
import { LARGE_BODY_BYTES, parseJsonObject, requireJson } from '../json-body.ts'
import { jsonSink, type Pace } from '../json-sink.ts'
import { readBody } from '../request.ts'
import type { RequestContext, ResponseNeeds } from '../response.ts'
import { sseSink } from '../sse-sink.ts'
import { CHATS, exactly, type V1Endpoint } from './endpoint.ts'

export type ChatNeeds = GatewayNeeds &
  ChatBodyNeeds & {
    readonly bodies: BodyMemory
    readonly reply: ResponseNeeds
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
  return { rule, match: exactly(CHATS), serve: (ctx, pass) => serve(ctx, pass, needs) }
}

async function serve(ctx: RequestContext, pass: Pass, needs: ChatNeeds): Promise<Served> {
  const body = needs.bodies.open(pass.caller.account.id)
  let stream = false
  try {
    const read = readChat(ctx, body.reserve, needs)
    const chat = read instanceof Promise ? await read : read
    pass.modelRequested = storable(chat.model, MODEL_NAME_MAX)
    pass.stream = stream = chat.stream
    const connection = {
      sink(model: { readonly id: string }, outputCap: number | null) {
        const { reply, pace, timers } = needs
        const setup = { ctx, model: model.id, explain: wantsExplanation(ctx, needs), outputCap, reply, pace, timers }
        return chat.stream ? sseSink(setup, chat.includeUsage) : jsonSink(setup)
      },
      booked(cost: Nano) {
        ctx.booked = cost
      },
      afterSent(listener: () => void) {
        if (ctx.call.client.gone || ctx.res.destroyed) listener()
        else ctx.res.once('close', listener)
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
      firstByteMs: done.firstByteAt === null ? undefined : done.firstByteAt - ctx.call.receivedAt,
    }
  } finally {
    if (stream) needs.streams.delta(-1)
    body.release()
  }
}

function wantsExplanation(ctx: RequestContext, { explainAllowed, explainHeader }: ChatNeeds): boolean {
  return explainAllowed && ctx.req.headers[explainHeader] === '1'
}

export type ChatBodyNeeds = {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly jsonDepthMax: number
  readonly timers: CoarseTimers
}

// A promise only if the body is one.
export function readChat(
  ctx: RequestContext,
  reserve: (bytes: number) => void,
  needs: ChatBodyNeeds,
): Chat | Promise<Chat> {
  requireJson(ctx.req)
  const bytes = readBody(ctx.req, ctx.res, {
    bytesMax: needs.bodyBytesMax,
    timeoutMs: needs.bodyTimeoutMs,
    timers: needs.timers,
    reserve,
  })
  if (bytes instanceof Promise) {
    return bytes.then(whole => (whole.length > LARGE_BODY_BYTES ? parseInTurns(whole, needs) : parse(whole, needs)))
  }
  return parse(bytes, needs)
}

function parse(whole: Buffer, { jsonDepthMax }: ChatBodyNeeds): Chat {
  return parseChat(parseJsonObject(whole, jsonDepthMax, 'kept'))
}

// Each step over megabytes has its own turn of the event loop, so that others are served in between.
async function parseInTurns(whole: Buffer, { jsonDepthMax }: ChatBodyNeeds): Promise<Chat> {
  await nextTurn()
  const body = parseJsonObject(whole, jsonDepthMax, 'kept')
  await nextTurn()
  const chat = parseChat(body)
  await nextTurn()
  return chat
}
