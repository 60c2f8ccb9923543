// Endpoints that cost nothing: the answer is computed, the row is committed, then the answer is sent.

import type { EndpointRule } from '../../admit/authorize.ts'
import { type EnterNeeds, enter, type Granted } from '../../admit/reserve.ts'
import type { Pass } from '../../domain/handoff.ts'
import type { Served } from '../../telemetry/request-report.ts'
import { type Case, commonHeaders, costHeader, type ReplyNeeds, sendJson } from '../response.ts'
import type { V1Endpoint } from './endpoint.ts'

export type FreeNeeds = EnterNeeds & { readonly reply: ReplyNeeds }

export type FreeAnswer = {
  readonly status: 200 | 304
  readonly headers?: readonly string[]
  body(granted: Granted): unknown
}

// The function that computes the answer gets the request context, its pass, and the remaining path.
export type FreeWork = (it: Case, pass: Pass, rest: string) => Promise<FreeAnswer>

export function freeEndpoint(
  rule: EndpointRule,
  match: V1Endpoint['match'],
  work: FreeWork,
  needs: FreeNeeds,
): V1Endpoint {
  return { rule, match, serve: (it, pass, rest) => serve(it, pass, rule, () => work(it, pass, rest), needs) }
}

async function serve(
  it: Case,
  pass: Pass,
  rule: EndpointRule,
  work: () => Promise<FreeAnswer>,
  needs: FreeNeeds,
): Promise<Served> {
  const answer = await work()
  const entry = { kind: 'unbilled', outcome: 'completed', httpStatus: answer.status, errorCode: null } as const
  const granted = await enter(pass, { rule, entry }, needs)
  const headers = [
    ...commonHeaders(it, undefined, needs.reply),
    ...costHeader(0n, needs.reply),
    ...(answer.headers ?? []),
  ]
  if (answer.status === 304) {
    it.res.writeHead(304, headers)
    it.res.end()
  } else sendJson(it, 200, JSON.stringify(answer.body(granted)), headers)
  return { status: answer.status, outcome: 'completed', cost: 0n }
}
