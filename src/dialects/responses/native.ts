// The answer of a provider that speaks Responses itself: passed through, with id, model, usage and the caller's identifiers
// rewritten.
import type { Chat } from '../../domain/chat.ts'
import type { Receipt } from '../../domain/handoff.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { errorOf, ownIdentifiers, responseId, usageField } from './response.ts'

export type NativeWriter = {
  // A response object up to the fields that are known only when it is booked.
  open(native: Readonly<Record<string, unknown>>): string
  // The opened object as JSON.
  close(opened: string, model: string, receipt: Receipt | undefined): string
}

export function nativeWriter(chat: Chat, requestId: string): NativeWriter {
  const identifiers = ownIdentifiers(chat)
  return {
    open(native) {
      const own: Record<string, unknown> = { ...native, store: false, ...identifiers }
      for (const name of ['id', 'model', 'usage']) delete own[name]
      return `{"id":"${responseId(requestId)}",${JSON.stringify(own).slice(1, -1)}`
    },
    close(opened, model, receipt) {
      return `${opened},"model":${JSON.stringify(model)}${usageField(receipt)}}`
    },
  }
}

export const TERMINAL: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete', 'response.failed'])

// The response of a stream that broke, by what had come of it.
export function brokenResponse(
  begun: Readonly<Record<string, unknown>>,
  output: readonly unknown[],
  refusal: Refusal,
  requestId: string,
): Readonly<Record<string, unknown>> {
  return { ...begun, output, status: 'failed', error: errorOf(refusal, requestId) }
}
