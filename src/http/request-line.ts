// The one log line of a request: who, what, how long, how much; never a secret, a prompt or an answer.
import { formatCredits } from '../domain/credits.ts'
import type { RequestReport } from './door.ts'

export function requestLine(report: RequestReport): object {
  const { call, tokens } = report
  return {
    id: call.requestId,
    client_id: call.clientRequestId ?? undefined,
    endpoint: report.endpoint,
    status: report.status,
    outcome: report.outcome,
    code: report.errorCode,
    key: report.bearer?.label,
    model: report.model,
    provider: report.provider ?? undefined,
    stream: report.stream,
    prompt_tokens: tokens?.prompt,
    completion_tokens: tokens?.completion,
    cost: report.cost === undefined ? undefined : formatCredits(report.cost),
    first_byte_ms: report.firstByteMs,
    ms: Math.round(report.ms * 10) / 10,
    ip: call.address?.text,
  }
}
