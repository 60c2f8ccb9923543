// The endpoints of usage rows and their sums, as JSON pages or as one CSV stream.
import type { FastifyInstance } from 'fastify'
import type { ReportMethods, SummaryObject } from '../../admin/reports.ts'
import type { OperatorUsageObject } from '../../domain/usage-wire.ts'
import { csvHeader, csvHeaders, csvLine, isCsv, sendCsv, usageCsv } from '../csv.ts'
import { pageOf, serve } from './endpoint.ts'
import type { Guard } from './guard.ts'
import { ADMIN } from './schemas.ts'

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
      const range = { limit, after, guard: needs.guard }
      return sendCsv(reply, usageCsv(COLUMNS), range, reports.usagePages(filter))
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
      return csvHeader(SUMMARY_COLUMNS) + summary.data.map(row => csvLine(SUMMARY_COLUMNS, row)).join('')
    },
    needs,
  )
  serve(app, ADMIN.overview, ({ query }) => reports.overview(query), needs)
  serve(app, ADMIN.getUsage, ({ params }) => reports.usageOf(params.request_id ?? ''), needs)
}

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
  'failovers',
]
