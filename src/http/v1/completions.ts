// The endpoints that are answered by a provider, one for each dialect: reads and validates the body of an admitted call and runs
// it.
import type { IncomingHttpHeaders } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EndpointRule } from '../../admit/authorize.ts'
import { complete, type GatewayNeeds } from '../../chat/complete.ts'
import type { DialectEdges } from '../../dialects/dialect.ts'
import type { Chat } from '../../domain/chat.ts'
import type { Nano } from '../../domain/credits.ts'
import type { Pass } from '../../domain/handoff.ts'
import type { Scope } from '../../domain/key.ts'
import { type BILLED_ENDPOINTS, MODEL_NAME_MAX, storable } from '../../domain/usage.ts'
import type { CoarseTimers } from '../../lib/coarse-timers.ts'
import type { Served } from '../../telemetry/request-log.ts'
import type { BodyMemory } from '../body-memory.ts'
import { LARGE_BODY_BYTES, parseJsonObject, requireJson } from '../json-body.ts'
import { jsonSink, type Pace } from '../json-sink.ts'
import { readBody } from '../request.ts'
import type { RequestContext, ResponseNeeds } from '../response.ts'
import { sseSink } from '../sse-sink.ts'
import { exactly, type V1Endpoint } from './endpoint.ts'

export type CompletionNeeds = GatewayNeeds &
  BodyNeeds & {
    readonly bodies: BodyMemory
    readonly reply: ResponseNeeds
    readonly pace: Pace
    readonly streams: { delta(by: 1 | -1): void }
    // Whether callers may request an explanation of the routing, and by which header, in lower case.
    readonly explainAllowed: boolean
    readonly explainHeader: string
  }

export type CompletionEndpoint = {
  readonly endpoint: (typeof BILLED_ENDPOINTS)[number]
  readonly path: string
  readonly scope: Scope
  readonly dialect: DialectEdges
}

export function completions(
  { endpoint, path, scope, dialect }: CompletionEndpoint,
  needs: CompletionNeeds,
): V1Endpoint {
  const rule: EndpointRule = { endpoint, method: 'POST', scope, evenIfSuspended: false }
  return {
    rule,
    match: exactly(path),
    serve: (ctx, pass) => serve(ctx, pass, rule, dialect, needs),
    errorBody: dialect.error,
  }
}

async function serve(
  ctx: RequestContext,
  pass: Pass,
  rule: EndpointRule,
  dialect: DialectEdges,
  needs: CompletionNeeds,
): Promise<Served> {
  const body = needs.bodies.open(pass.caller.account.id)
  let stream = false
  try {
    const read = readChat(ctx, dialect.parse, body.reserve, needs)
    const chat = read instanceof Promise ? await read : read
    pass.modelRequested = storable(chat.model, MODEL_NAME_MAX)
    pass.stream = stream = chat.stream
    const connection = {
      sink(model: { readonly id: string }, outputCap: number | null) {
        const { reply, pace, timers } = needs
        const { requestId, receivedAt } = ctx.call
        const opened = { requestId, receivedAt, chat, model: model.id, explain: wantsExplanation(ctx, needs) }
        const setup = { ctx, outputCap, reply, pace, timers }
        return chat.stream ? sseSink(setup, dialect.stream(opened)) : jsonSink(setup, dialect.whole(opened))
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
      attempts: done.attempts,
      finishReason: done.finishReason,
      firstByteMs: done.firstByteAt === null ? undefined : done.firstByteAt - ctx.call.receivedAt,
    }
  } finally {
    if (stream) needs.streams.delta(-1)
    body.release()
  }
}

function wantsExplanation(ctx: RequestContext, { explainAllowed, explainHeader }: CompletionNeeds): boolean {
  return explainAllowed && ctx.req.headers[explainHeader] === '1'
}

export type BodyNeeds = {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly jsonDepthMax: number
  readonly timers: CoarseTimers
}

// A promise only if the body is one.
export function readChat(
  ctx: RequestContext,
  parse: DialectEdges['parse'],
  reserve: (bytes: number) => void,
  needs: BodyNeeds,
): Chat | Promise<Chat> {
  const { headers } = ctx.req
  requireJson(ctx.req)
  const bytes = readBody(ctx.req, ctx.res, {
    bytesMax: needs.bodyBytesMax,
    timeoutMs: needs.bodyTimeoutMs,
    timers: needs.timers,
    reserve,
  })
  const read = (whole: Buffer) => {
    const body = parseJsonObject(whole, needs.jsonDepthMax, 'kept')
    if (ctx.call.tagsRefusal !== undefined) throw ctx.call.tagsRefusal
    return withSession(body, headers)
  }
  if (bytes instanceof Promise) {
    return bytes.then(whole =>
      whole.length > LARGE_BODY_BYTES
        ? inTurns(
            () => read(whole),
            body => parse(body, headers),
          )
        : parse(read(whole), headers),
    )
  }
  return parse(read(bytes), headers)
}

// Some clients name the session in a header.
function withSession(body: Record<string, unknown>, headers: IncomingHttpHeaders): Record<string, unknown> {
  const session = headers['x-session-id'] ?? headers['x-session-affinity']
  if (typeof session === 'string' && session !== '') body.session_id ??= session.slice(0, SESSION_CHARS_MAX)
  return body
}

const SESSION_CHARS_MAX = 1024

// Each step over megabytes has its own turn of the event loop, so that others are served in between.
async function inTurns(
  read: () => Record<string, unknown>,
  parse: (body: Record<string, unknown>) => Chat,
): Promise<Chat> {
  await nextTurn()
  const body = read()
  await nextTurn()
  const chat = parse(body)
  await nextTurn()
  return chat
}
