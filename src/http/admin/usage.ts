// The endpoints of usage rows and their sums, as JSON pages or as one CSV stream.
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ReportMethods, SummaryObject, UsageQuery } from '../../admin/reports.ts'
import type { OperatorUsageObject } from '../../domain/usage-wire.ts'
import { pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

const CSV_PAGE = 500
// Beyond this the transfer is aborted visibly: a truncated file must not look complete.
const CSV_ROWS_MAX = 5_000_000

export function usageEndpoints(
  app: FastifyInstance,
  needs: { readonly guard: Guard; readonly reports: ReportMethods },
): void {
  const { reports } = needs
  serve(
    app,
    ADMIN.listUsage,
    async ({ query, request, reply }) => {
      reply.header('vary', 'Accept')
      const { limit, after, format, ...filter } = query
      if (!isCsv(format, request.headers.accept)) return reports.usage(filter, pageOf(query))
      return sendCsv(reply, filter, { rowsMax: limit ?? Number.POSITIVE_INFINITY, after }, reports)
    },
    needs,
  )
  serve(
    app,
    ADMIN.summariseUsage,
    async ({ query: { group_by, format, ...filter }, request, reply }) => {
      reply.header('vary', 'Accept')
      const summary = await reports.summary(filter, group_by)
      if (!isCsv(format, request.headers.accept)) return summary
      csvHeaders(reply, 'usage-summary')
      return SUMMARY_HEADER + summary.data.map(row => lineOf(SUMMARY_COLUMNS, row)).join('')
    },
    needs,
  )
  serve(app, ADMIN.overview, ({ query }) => reports.overview(query), needs)
  serve(app, ADMIN.getUsage, ({ params }) => reports.usageOf(params.request_id ?? ''), needs)
}

type CsvRange = { readonly rowsMax: number; readonly after: string | undefined }

// The first page is read before the headers are sent, so that a refusal is still possible.
async function sendCsv(reply: FastifyReply, filter: UsageQuery, range: CsvRange, reports: ReportMethods) {
  const readPage = (left: number, after: string | undefined) =>
    reports.usage(filter, { limit: Math.min(CSV_PAGE, left), after })
  const first = await readPage(range.rowsMax, range.after)

  async function* lines(): AsyncGenerator<string> {
    yield CSV_HEADER
    let written = 0
    for (let page = first; ; ) {
      yield page.data.map(csvLine).join('')
      written += page.data.length
      const last: OperatorUsageObject | undefined = page.data.at(-1)
      if (!page.has_more || last === undefined || written >= range.rowsMax) return
      if (written >= CSV_ROWS_MAX) throw new Error(`a CSV export exceeded ${CSV_ROWS_MAX} rows`)
      page = await readPage(range.rowsMax - written, last.request_id)
    }
  }

  csvHeaders(reply, 'usage')
  return Readable.from(lines(), { objectMode: false })
}

function csvHeaders(reply: FastifyReply, name: string): void {
  reply.header('content-type', 'text/csv; charset=utf-8')
  reply.header('content-disposition', `attachment; filename="${name}.csv"`)
}

function isCsv(format: string | undefined, accept: string | undefined): boolean {
  return format === undefined ? wantsCsv(accept) : format === 'csv'
}

// CSV only if requested by name and JSON is not preferred.
function wantsCsv(accept: string | undefined): boolean {
  const csv = qualityOf('text/csv', accept)
  return csv > 0 && csv >= qualityOf('application/json', accept)
}

function qualityOf(type: string, accept = ''): number {
  for (const part of accept.toLowerCase().split(',')) {
    const [name, ...params] = part.split(';').map(piece => piece.trim())
    if (name !== type) continue
    const quality = params.find(param => param.startsWith('q='))
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0
  }
  return 0
}

// Usage rows as CSV (RFC 4180), safe to open in a spreadsheet: many fields come from callers.
const COLUMNS: readonly Exclude<keyof OperatorUsageObject, 'object' | 'routing'>[] = [
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
  'cache_write_1h_tokens',
  'image_tokens',
  'audio_tokens',
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
  'tags',
  'error_message',
  'error_detail',
]

export const CSV_HEADER = `${COLUMNS.join(',')}\r\n`

const SUMMARY_COLUMNS: readonly Exclude<keyof SummaryObject, 'object'>[] = [
  'group',
  'requests',
  'errors',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'upstream_cost',
  'margin',
  'requests_without_upstream_cost',
]
const SUMMARY_HEADER = `${SUMMARY_COLUMNS.join(',')}\r\n`

export function csvLine(row: OperatorUsageObject): string {
  return lineOf(COLUMNS, row)
}

function lineOf<T extends object>(columns: readonly (keyof T)[], row: T): string {
  return `${columns.map(name => cell(row[name])).join(',')}\r\n`
}

const DECIMAL = /^-?\d+(\.\d+)?$/

// A cell that begins like a formula would be run by the spreadsheet, also after blanks and invisible characters; a leading
// apostrophe makes it text.
function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // A negative amount is no formula.
  const safe = !DECIMAL.test(text) && /^[\s\p{Cc}\p{Cf}]*[=+\-@\t\r\n＝＋－＠]/u.test(text) ? `'${text}` : text
  return /[",;\r\n\t']|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
