// Usage rows as CSV (RFC 4180), safe to open in a spreadsheet: many fields come from callers.
import type { UsageObject } from '../../domain/usage-wire.ts'

const COLUMNS: readonly Exclude<keyof UsageObject, 'object'>[] = [
  'request_id',
  'client_request_id',
  'account_id',
  'key_id',
  'secret_last4',
  'endpoint',
  'model_requested',
  'model_served',
  'provider',
  'attempts',
  'stream',
  'state',
  'outcome',
  'http_status',
  'error_code',
  'finish_reason',
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'usage_source',
  'price_version',
  'price',
  'hold',
  'cost',
  'upstream_cost',
  'created_at',
  'first_byte_at',
  'finished_at',
  'client_ip',
  'upstream_id',
  'requests',
]

export const CSV_HEADER = `${COLUMNS.join(',')}\r\n`

export function csvLine(row: UsageObject): string {
  return `${COLUMNS.map(name => cell(row[name])).join(',')}\r\n`
}

// A cell that begins like a formula would be run by the spreadsheet, also after blanks and invisible characters; a leading
// apostrophe makes it text.
function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const safe = /^[\s\p{Cc}\p{Cf}]*[=+\-@\t\r\n＝＋－＠]/u.test(text) ? `'${text}` : text
  return /[",;\r\n\t']|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
