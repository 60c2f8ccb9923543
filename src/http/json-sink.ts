// The answer as one JSON object: sent after it has been booked, with its cost in the header and in the body.
import { formatCredits } from '../domain/credits.ts'
import type { Receipt } from '../domain/handoff.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { Considered } from '../domain/routing.ts'
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
  // The requested model.
  readonly model: string
  // Whether the answer explains the routing.
  readonly explain: boolean
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

export function jsonSink(setup: SinkSetup): Sink {
  const { ctx, reply } = setup
  let by: ServedBy | undefined
  let answer: { readonly choices: string | readonly Uint8Array[]; readonly fingerprint: string } | undefined

  return {
    headersLeft: () => false,
    served(next) {
      by = next
    },
    chunks: () => true,
    onDrain: () => undefined,
    // Serialised at once: an answer that cannot be serialised must be known before it is paid for.
    whole({ choices, written, fingerprint }) {
      const ours = JSON.stringify(fingerprint ?? OUR_FINGERPRINT)
      answer = { choices: written ?? JSON.stringify(choices), fingerprint: ours }
    },
    abandon: () => undefined,
    close(receipt: Receipt, refusal: Refusal | undefined) {
      if (ctx.call.client.gone) return
      if (refusal !== undefined || answer === undefined || by === undefined) {
        if (refusal !== undefined) sendRefusal(ctx, refusal, reply)
        else ctx.res.destroy()
        return
      }
      const before =
        `{"id":"chatcmpl-${ctx.call.requestId}","object":"chat.completion","created":${Math.floor(ctx.call.receivedAt / 1000)},` +
        `"model":${JSON.stringify(by.model)},"system_fingerprint":${answer.fingerprint},"choices":`
      const after = `,"usage":${usageJson(receipt)}${setup.explain ? `,${metadataJson(by)}` : ''}}`
      const headers = [...answerHeaders(setup, by), ...costHeader(receipt.cost, reply)]
      const { choices } = answer
      if (typeof choices === 'string') sendJson(ctx, 200, before + choices + after, headers)
      else sendPieces(ctx, 200, [Buffer.from(before), ...choices, Buffer.from(after)], headers)
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

// The parts of OpenAI's answer that both sinks write, as text: money is written as exact digits, never through a float.
export const OUR_FINGERPRINT = 'fp_turnpike'

export function usageJson({ tokens, cost }: Receipt): string {
  return (
    `{"prompt_tokens":${tokens.prompt},"completion_tokens":${tokens.completion},` +
    `"total_tokens":${tokens.prompt + tokens.completion},` +
    `"prompt_tokens_details":{"cached_tokens":${tokens.cached}},` +
    `"completion_tokens_details":{"reasoning_tokens":${tokens.reasoning}},"cost":${formatCredits(cost)}}`
  )
}

// The candidates in order, with reasons.
export function metadataJson({ considered }: { readonly considered: readonly Considered[] }): string {
  return `"metadata":${JSON.stringify({ candidates: considered })}`
}

// Names of omitted fields as a header value: visible ASCII, bounded.
function ignoredHeader(names: readonly string[]): string {
  return names
    .slice(0, 32)
    .map(name => name.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?').slice(0, 64))
    .join(', ')
}
