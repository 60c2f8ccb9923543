// What is known of a request once it has been answered, and the log line that is made from it.
import { formatCredits, type Nano, type Tokens } from '../domain/credits.ts'
import type { Call } from '../domain/handoff.ts'
import type { AuthenticatedKey } from '../domain/key.ts'
import type { Attempt, Endpoint, Outcome } from '../domain/usage.ts'

export type RequestReport = Served & {
  readonly call: Pick<
    Call,
    'requestId' | 'clientRequestId' | 'address' | 'method' | 'receivedAt' | 'startedMs' | 'trace'
  >
  readonly endpoint: Endpoint
  readonly caller: AuthenticatedKey | undefined
  // Not known before the body was read.
  readonly modelRequested: string | null
  readonly ms: number
}

// The part that the endpoint knows.
export type Served = {
  readonly status: number
  readonly outcome: Outcome
  readonly model?: string | undefined
  readonly provider?: string | null | undefined
  readonly stream?: boolean
  readonly tokens?: Tokens
  readonly cost?: Nano
  readonly errorCode?: string | undefined
  readonly firstByteMs?: number | undefined
  readonly attempts?: readonly Attempt[]
  readonly finishReason?: string | null
}

export function requestLine(report: RequestReport): string {
  const { call, tokens } = report
  let line = `"id":"${call.requestId}"`
  if (call.clientRequestId !== null) line += `,"client_id":${JSON.stringify(call.clientRequestId)}`
  line += `,"endpoint":"${report.endpoint}","status":${report.status},"outcome":"${report.outcome}"`
  if (report.errorCode !== undefined) line += `,"code":"${report.errorCode}"`
  if (report.caller !== undefined) line += `,"key":${JSON.stringify(report.caller.label)}`
  if (report.model !== undefined) line += `,"model":${JSON.stringify(report.model)}`
  if (report.provider) line += `,"provider":${JSON.stringify(report.provider)}`
  if (report.stream !== undefined) line += `,"stream":${report.stream}`
  if (tokens !== undefined) line += `,"prompt_tokens":${tokens.prompt},"completion_tokens":${tokens.completion}`
  if (report.cost !== undefined) line += `,"cost":"${formatCredits(report.cost)}"`
  if (report.firstByteMs !== undefined) line += `,"first_byte_ms":${report.firstByteMs}`
  line += `,"ms":${Math.round(report.ms * 10) / 10}`
  return call.address === undefined ? line : `${line},"ip":"${call.address.text}"`
}
