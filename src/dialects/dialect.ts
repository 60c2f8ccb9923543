// What an endpoint needs of the dialect that its callers speak: how a request is read, and how an answer, a stream and an error
// are written. Everything between is the same for all dialects. See docs/decisions/dialects.md.
import type { IncomingHttpHeaders } from 'node:http'
import type { Chat } from '../domain/chat.ts'
import type { Chunk, Receipt, Whole } from '../domain/handoff.ts'
import type { Refusal } from '../domain/refusal.ts'
import type { ServedBy } from '../relay/sink.ts'

export type DialectEdges = {
  // A Chat that the rest may trust, or a Refusal that names the field.
  parse(body: Record<string, unknown>, headers: IncomingHttpHeaders): Chat
  stream(opened: OpenedAnswer): StreamWriter
  whole(opened: OpenedAnswer): WholeWriter
  error: ErrorWriter
}

export type OpenedAnswer = {
  readonly requestId: string
  readonly receivedAt: number
  readonly chat: Chat
  // The catalog id of the requested model.
  readonly model: string
  // Whether the answer explains the routing.
  readonly explain: boolean
}

// The frames of a stream, as text. Nothing is sent between the last chunks and the end, which waits for the settlement.
export type StreamWriter = {
  served(by: ServedBy): void
  // Empty if the caller sees nothing of these chunks.
  chunks(chunks: readonly Chunk[]): string
  // Fills a silence.
  readonly keepAlive: string
  // The end of a complete answer.
  completed(receipt: Receipt): string
  // The end of an answer that broke; without a receipt where nothing was settled.
  failed(refusal: Refusal, receipt: Receipt | undefined): string
}

// A whole answer. It is serialised when it arrives, since an answer that cannot be serialised must be known before it is paid for.
export type WholeWriter = {
  whole(whole: Whole): void
  // Undefined if there was no answer.
  body(by: ServedBy, receipt: Receipt): string | readonly Uint8Array[] | undefined
}

export type ErrorWriter = (refusal: Refusal, requestId: string) => object
