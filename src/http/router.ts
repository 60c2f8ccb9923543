// The router of /v1: every request under it passes here, before any routing by path, so that nothing can bypass admission. It
// admits, calls the endpoint, converts errors to responses, and logs one line. See docs/decisions/express-path.md.

import { type AdmitNeeds, admit } from '../admit/admit.ts'
import { type RecordNeeds, type RefusedRequest, recordRefusal } from '../admit/record-refusal.ts'
import type { ErrorWriter } from '../dialects/dialect.ts'
import { messagesError } from '../dialects/messages/errors.ts'
import type { Pass } from '../domain/handoff.ts'
import { errorBody, REFUSALS, Refusal } from '../domain/refusal.ts'
import type { SlotList } from '../lib/slot-list.ts'
import { type BillingStore, StoreUnavailable } from '../store/contract/store.ts'
import type { RequestReport, Served } from '../telemetry/request-log.ts'
import type { HttpRequest, HttpResponse } from './http-types.ts'
import { type CallNeeds, type HttpCall, openCall } from './request.ts'
import { commonHeaders, costHeader, type RequestContext, type ResponseNeeds, sendRefusal } from './response.ts'
import type { V1Endpoint } from './v1/endpoint.ts'

export type RouterNeeds = Omit<AdmitNeeds, 'recognised'> &
  RecordNeeds &
  CallNeeds & {
    readonly endpoints: readonly V1Endpoint[]
    readonly reply: ResponseNeeds
    readonly billing: Pick<BillingStore, 'reserve' | 'touch'>
    readonly open: () => boolean
    readonly inFlight: SlotList<InFlight>
    readonly report: (report: RequestReport) => void
    readonly onBug: (error: unknown, requestId: string) => void
  }

export type InFlight = { readonly call: HttpCall; keyId: string | undefined }

export type Router = (req: HttpRequest, res: HttpResponse) => Promise<void>

export function v1Router(needs: RouterNeeds): Router {
  return async (req, res) => {
    const call = openCall(req, res, needs)
    const found = findEndpoint(call.path, needs.endpoints)
    const inShape = found?.endpoint.errorBody ?? shapeFor(req)
    const ctx: RequestContext = {
      call,
      req,
      res,
      known: undefined,
      booked: 0n,
      errorBody: inShape,
      endInBand: undefined,
    }
    const flight: InFlight = { call, keyId: undefined }
    let served: Served
    let pass: Pass | undefined
    const leave = needs.inFlight.add(flight)
    try {
      if (!needs.open())
        throw new Refusal('service_unavailable', { retryAfter: 5, message: 'The server is shutting down.' })
      if (isPreflight(req, needs.reply)) served = sendPreflight(ctx, needs.reply)
      else {
        pass = await admit(call, found?.endpoint.rule, {
          authenticator: needs.authenticator,
          limits: needs.limits,
          billing: needs.billing,
          recognised(known) {
            ctx.known = known
            flight.keyId = known.caller.key.id
          },
        })
        served = await (found as Found).endpoint.serve(ctx, pass, (found as Found).rest)
      }
    } catch (error) {
      const refused = { known: ctx.known, pass, rule: found?.endpoint.rule }
      const refusal = await recorded(error, refused, call.requestId, needs)
      // A key that ended between its admission and its row is not valid.
      if (REFUSALS[refusal.code].row === 'none') ctx.known = undefined
      const status = sendRefusal(ctx, refusal, needs.reply)
      served = { status, outcome: 'refused', errorCode: refusal.code, cost: ctx.booked }
    } finally {
      pass?.leave()
      leave()
    }
    const ms = needs.clock.monotonic() - call.startedMs
    needs.report({
      ...served,
      call,
      endpoint: found?.endpoint.rule.endpoint ?? 'unknown',
      caller: ctx.known?.caller,
      modelRequested: pass?.modelRequested ?? null,
      ms,
    })
  }
}

// Anthropic's clients name their version on every path.
function shapeFor(req: HttpRequest): ErrorWriter {
  return req.headers['anthropic-version'] === undefined ? errorBody : messagesError
}

type Found = { readonly endpoint: V1Endpoint; readonly rest: string }

function findEndpoint(path: string, endpoints: readonly V1Endpoint[]): Found | undefined {
  for (const endpoint of endpoints) {
    const rest = endpoint.match(path)
    if (rest !== undefined) return { endpoint, rest }
  }
  return undefined
}

// A store that is unavailable writes no row.
async function recorded(
  error: unknown,
  request: RefusedRequest,
  requestId: string,
  needs: RouterNeeds,
): Promise<Refusal> {
  const refusal = asRefusal(error, requestId, needs)
  if (error instanceof StoreUnavailable) return refusal
  try {
    return await recordRefusal(refusal, request, needs)
  } catch (failure) {
    const second = asRefusal(failure, requestId, needs)
    return failure instanceof StoreUnavailable ? second : recordRefusal(second, request, needs)
  }
}

// A fault of the gateway is never a 401 and never a 429.
function asRefusal(error: unknown, requestId: string, needs: RouterNeeds): Refusal {
  if (error instanceof Refusal) return error
  if (error instanceof StoreUnavailable) return new Refusal('service_unavailable', { retryAfter: 1 })
  needs.onBug(error, requestId)
  return new Refusal('internal_error')
}

function isPreflight(req: HttpRequest, reply: ResponseNeeds): boolean {
  const { origin } = req.headers
  const asks = req.method === 'OPTIONS' && req.headers['access-control-request-method'] !== undefined
  return asks && origin !== undefined && reply.corsOrigins.includes(origin)
}

function sendPreflight(ctx: RequestContext, reply: ResponseNeeds): Served {
  ctx.res.writeHead(204, [
    ...commonHeaders(ctx, undefined, reply),
    ...costHeader(0n, reply),
    'Access-Control-Allow-Methods',
    'GET, POST',
    'Access-Control-Allow-Headers',
    allowedHeaders(ctx.req.headers['access-control-request-headers']),
    'Access-Control-Max-Age',
    '600',
  ])
  ctx.res.end()
  return { status: 204, outcome: 'completed', cost: 0n }
}

// Clients add their own headers, whose names cannot be listed; none gives a page more than its key does.
function allowedHeaders(asked: string | string[] | undefined): string {
  const isList = typeof asked === 'string' && asked.length <= 1024 && /^[\w-]+(?: *, *[\w-]+)*$/.test(asked)
  return `authorization, content-type, x-client-request-id${isList ? `, ${asked}` : ''}`
}
