// The log line of a request: who, what, how long, how much; never a secret, a prompt or an answer. Built directly as text, since
// it is written for every request; external values are quoted as JSON.
import { formatCredits } from '../domain/credits.ts'
import type { RequestReport } from './request-report.ts'

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
