// The answer as one JSON object: sent after it has been booked, with its cost in the header and in the body.
import type { WholeWriter } from '../dialects/dialect.ts'
import type { Receipt } from '../domain/handoff.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { CoarseTimers } from '../lib/coarse-timers.ts'
import type { ServedBy, Sink } from '../relay/sink.ts'
import {
  commonHeaders,
  costHeader,
  type RequestContext,
  type ResponseNeeds,
  sendJson,
  sendPieces,
  sendRefusal,
} from './response.ts'

export type SinkSetup = {
  readonly ctx: RequestContext
  readonly outputCap: number | null
  readonly reply: ResponseNeeds
  readonly pace: Pace
  readonly timers: CoarseTimers
}

// When a silent stream gets a keep-alive, and when a caller that does not read counts as disconnected.
export type Pace = {
  readonly headersLeaveAfterMs: number
  readonly keepAliveAfterMs: number
  readonly writeStallMs: number
}

export function jsonSink(setup: SinkSetup, writer: WholeWriter): Sink {
  const { ctx, reply } = setup
  let by: ServedBy | undefined

  return {
    headersLeft: () => false,
    served(next) {
      by = next
    },
    chunks: () => true,
    onDrain: () => undefined,
    whole: writer.whole,
    abandon: () => undefined,
    close(receipt: Receipt, refusal: Refusal | undefined) {
      if (ctx.call.client.gone) return
      if (refusal !== undefined) {
        sendRefusal(ctx, refusal, reply)
        return
      }
      const body = by && writer.body(by, receipt)
      if (body === undefined) {
        ctx.res.destroy()
        return
      }
      const headers = answerHeaders(setup, by)
      headers.push(...costHeader(receipt.cost, reply))
      if (typeof body === 'string') sendJson(ctx, 200, body, headers)
      else sendPieces(ctx, 200, body, headers)
    },
  }
}

export function answerHeaders(setup: SinkSetup, by: ServedBy | undefined): string[] {
  const { headerPrefix } = setup.reply
  const headers = commonHeaders(setup.ctx, undefined, setup.reply)
  if (by !== undefined) headers.push(`${headerPrefix}Provider`, by.provider)
  if (setup.outputCap !== null) headers.push(`${headerPrefix}Output-Cap`, String(setup.outputCap))
  if (by !== undefined && by.ignored.length > 0)
    headers.push(`${headerPrefix}Ignored-Fields`, ignoredHeader(by.ignored))
  return headers
}

// Names of omitted fields as a header value: visible ASCII, bounded.
function ignoredHeader(names: readonly string[]): string {
  return names
    .slice(0, 32)
    .map(name => name.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?').slice(0, 64))
    .join(', ')
}
