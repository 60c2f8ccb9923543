// Reports as CSV (RFC 4180), safe to open in a spreadsheet: many fields come from callers.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { List } from '../admin/input.ts'
import { csvRecord } from '../lib/csv.ts'
import type { Page } from '../store/contract/operator.ts'

const CSV_PAGE = 500
// Beyond this the transfer is aborted visibly: a truncated file must not look complete.
const CSV_ROWS_MAX = 5_000_000

export type CsvRange = {
  // Undefined: all.
  readonly limit: number | undefined
  readonly after: string | undefined
  readonly guard: { checkAgain(request: FastifyRequest): Promise<void> }
}

// A report: the name of its file, and the id of a row, after which the next page begins.
export type CsvReport<Row> = {
  readonly name: string
  readonly columns: readonly (keyof Row)[]
  readonly idOf: (row: Row) => string
}

// Page by page. The first page is read before the headers are sent, so that a refusal is still possible. An export may take hours:
// it is aborted when the session or token that started it ends.
export async function sendCsv<Row extends object>(
  reply: FastifyReply,
  { name, columns, idOf }: CsvReport<Row>,
  { limit: rowsMax = Number.POSITIVE_INFINITY, after: firstAfter, guard }: CsvRange,
  read: (page: Page) => Promise<List<Row>>,
) {
  const readPage = (left: number, after: string | undefined) => read({ limit: Math.min(CSV_PAGE, left), after })
  const first = await readPage(rowsMax, firstAfter)

  async function* lines(): AsyncGenerator<string> {
    yield csvHeader(columns)
    let written = 0
    for (let page = first; ; ) {
      yield page.data.map(row => csvLine(columns, row)).join('')
      written += page.data.length
      const last: Row | undefined = page.data.at(-1)
      if (!page.has_more || last === undefined || written >= rowsMax) return
      if (written >= CSV_ROWS_MAX) throw new Error(`a CSV export exceeded ${CSV_ROWS_MAX} rows`)
      await guard.checkAgain(reply.request)
      page = await readPage(rowsMax - written, idOf(last))
    }
  }

  csvHeaders(reply, name)
  return Readable.from(lines(), { objectMode: false })
}

export function usageCsv<Row extends { readonly request_id: string }>(columns: readonly (keyof Row)[]): CsvReport<Row> {
  return { name: 'usage', columns, idOf: ({ request_id }) => request_id }
}

export function csvHeaders(reply: FastifyReply, name: string): void {
  reply.header('content-type', 'text/csv; charset=utf-8')
  reply.header('content-disposition', `attachment; filename="${name}.csv"`)
}

export function isCsv(format: string | undefined, accept: string | undefined): boolean {
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

export function csvHeader(columns: readonly PropertyKey[]): string {
  return `${columns.map(String).join(',')}\r\n`
}

export function csvLine<T extends object>(columns: readonly (keyof T)[], row: T): string {
  return csvRecord(columns.map(name => row[name]))
}
