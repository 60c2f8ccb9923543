// The answer of a provider that speaks Responses itself: passed through, with id, model, usage and the caller's identifiers
// rewritten.
import type { Receipt } from '../../domain/handoff.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { ServedBy } from '../../relay/sink.ts'
import type { OpenedAnswer } from '../dialect.ts'
import { errorOf, ownIdentifiers, responseId, routingField, usageField } from './response.ts'

export type NativeWriter = {
  served(by: ServedBy): void
  // A response object up to the fields that are known only when it is booked.
  open(native: Readonly<Record<string, unknown>>): string
  // The opened object as JSON.
  close(opened: string, receipt: Receipt | undefined): string
}

export function nativeWriter({ chat, requestId, explain, ...opened }: OpenedAnswer): NativeWriter {
  const identifiers = ownIdentifiers(chat)
  let { model } = opened
  let routing = ''
  return {
    served(by) {
      model = by.model
      if (explain) routing = routingField(by)
    },
    open(native) {
      const own: Record<string, unknown> = { ...native, store: false, ...identifiers }
      for (const name of ['id', 'model', 'usage']) delete own[name]
      return `{"id":"${responseId(requestId)}",${JSON.stringify(own).slice(1, -1)}`
    },
    close(begun, receipt) {
      return `${begun},"model":${JSON.stringify(model)}${usageField(receipt)}${routing}}`
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
