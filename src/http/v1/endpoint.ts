// An endpoint under /v1 as the router sees it: a path, an admission rule, and a handler for admitted requests.
import type { EndpointRule } from '../../admit/authorize.ts'
import { type Reserved, type ReserveNeeds, reserve } from '../../admit/reserve.ts'
import type { ErrorWriter } from '../../dialects/dialect.ts'
import type { Pass } from '../../domain/handoff.ts'
import { NO_ERROR } from '../../store/contract/store.ts'
import type { Served } from '../../telemetry/request-log.ts'
import { commonHeaders, costHeader, type RequestContext, type ResponseNeeds, sendJson } from '../response.ts'

// What is answered by a provider, by dialect. Also served by the express path.
export const COMPLETION_PATHS = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
} as const

// Also served on a separate dashboard listener.
const { chat, messages, responses } = COMPLETION_PATHS
export const PLAYGROUND_PATHS: ReadonlySet<string | undefined> = new Set([chat, messages, responses])

export type V1Endpoint = {
  readonly rule: EndpointRule
  // The part of the path after the endpoint's own, or undefined if it is another path.
  match(path: string): string | undefined
  serve(ctx: RequestContext, pass: Pass, rest: string): Promise<Served>
  // The shape of its errors, if not OpenAI's.
  readonly errorBody?: ErrorWriter
}

export function exactly(path: string): (candidate: string) => string | undefined {
  return candidate => (candidate === path ? '' : undefined)
}

// `/v1/models/a%2Fb` and `/v1/models/a/b` both name `a/b`.
export function below(prefix: string): (candidate: string) => string | undefined {
  return candidate => {
    if (!candidate.startsWith(prefix) || candidate.length === prefix.length) return undefined
    try {
      return decodeURIComponent(candidate.slice(prefix.length))
    } catch {
      return undefined
    }
  }
}

// Endpoints that cost nothing: the answer is computed, the row is committed, then the answer is sent.
export type UnbilledNeeds = ReserveNeeds & { readonly reply: ResponseNeeds }

type UnbilledResponse = {
  readonly status: 200 | 304
  readonly headers?: readonly string[]
  body(reserved: Reserved): unknown
}

// The function that computes the answer gets the request context, its pass, and the remaining path.
export type UnbilledHandler = (ctx: RequestContext, pass: Pass, rest: string) => Promise<UnbilledResponse>

export function unbilledEndpoint(
  rule: EndpointRule,
  match: V1Endpoint['match'],
  work: UnbilledHandler,
  needs: UnbilledNeeds,
): V1Endpoint {
  return { rule, match, serve: (ctx, pass, rest) => serve(ctx, pass, rule, () => work(ctx, pass, rest), needs) }
}

async function serve(
  ctx: RequestContext,
  pass: Pass,
  rule: EndpointRule,
  work: () => Promise<UnbilledResponse>,
  needs: UnbilledNeeds,
): Promise<Served> {
  if (rule.method === 'GET' && ctx.call.tagsRefusal !== undefined) throw ctx.call.tagsRefusal
  let answer = await work()
  const entryNow = () => ({ kind: 'unbilled', outcome: 'completed', httpStatus: answer.status, ...NO_ERROR }) as const
  const whenChanged = async () => {
    answer = await work()
    return entryNow()
  }
  const reserved = await reserve(
    pass,
    { rule, entry: entryNow(), ...(rule.endpoint === 'models' ? { whenChanged } : {}) },
    needs,
  )
  const headers = [
    ...commonHeaders(ctx, undefined, needs.reply),
    ...costHeader(0n, needs.reply),
    ...(answer.headers ?? []),
  ]
  if (answer.status === 304) {
    ctx.res.writeHead(304, headers)
    ctx.res.end()
  } else sendJson(ctx, 200, JSON.stringify(answer.body(reserved)), headers)
  return { status: answer.status, outcome: 'completed', cost: 0n }
}
