// The operator's side of the store in SQL: all repositories over one connection.
import type { UsageReports } from '../contract/operator.ts'
import type { Store } from '../contract/store.ts'
import { sqlAccounts } from './accounts.ts'
import { sqlCatalog } from './catalog/catalog.ts'
import { sqlEvents } from './events.ts'
import { sqlFinder } from './finder.ts'
import { sqlGauges } from './gauges.ts'
import { sqlKeys } from './keys.ts'
import { sqlOperators } from './operators.ts'
import { sqlPortal } from './portal.ts'
import { type Retention, sqlRetention } from './retention.ts'
import { sqlSessions } from './sessions.ts'
import { sqlSettings } from './settings.ts'
import type { Sql } from './sql.ts'
import { type Hours, sqlHours } from './usage/hours.ts'
import { sqlUsage } from './usage/usage.ts'
import { sqlAlarms } from './webhooks/alarms.ts'
import { sqlWebhookQueue } from './webhooks/queue.ts'
import { sqlWebhooks } from './webhooks/webhooks.ts'

export type Repositories = Pick<
  Store,
  | 'keys'
  | 'accounts'
  | 'finder'
  | 'usage'
  | 'catalog'
  | 'events'
  | 'settings'
  | 'gauges'
  | 'operators'
  | 'sessions'
  | 'portal'
  | 'webhooks'
  | 'webhookQueue'
  | 'alarms'
> & { readonly hours: Hours; readonly retention: Retention }

export function sqlRepositories(sql: Sql): Repositories {
  return {
    keys: sqlKeys(sql),
    accounts: sqlAccounts(sql),
    finder: sqlFinder(sql),
    usage: sqlUsage(sql),
    catalog: sqlCatalog(sql),
    events: sqlEvents(sql),
    settings: sqlSettings(sql),
    gauges: sqlGauges(sql),
    operators: sqlOperators(sql),
    sessions: sqlSessions(sql),
    portal: sqlPortal(sql),
    webhooks: sqlWebhooks(sql),
    webhookQueue: sqlWebhookQueue(sql),
    alarms: sqlAlarms(sql),
    hours: sqlHours(sql),
    retention: sqlRetention(sql),
  }
}

// Which methods only read, and may run separately from the transactions that requests wait for: on SQLite in a thread, on
// Postgres over separate connections. They read committed data, so an operator finds at once what a call just made.
export type ReportBounds = {
  // A report that is not done by then is abandoned.
  readonly msMax: number
  // How much longer its last statement may take where it cannot be interrupted.
  readonly statementMsMax: number
  readonly waitingMax: number
}

export const REPORT_BOUNDS: ReportBounds = { msMax: 30_000, statementMsMax: 5_000, waitingMax: 256 }

type ReadMethods = { readonly [Name in keyof Repositories]?: readonly (keyof Repositories[Name])[] }

// Not included: methods that also write (`bearers` records a use), and `catalog.load`, which must see the catalog as a whole.
const READS = {
  keys: ['get', 'list'],
  accounts: ['get', 'list'],
  catalog: ['provider', 'providers', 'model', 'models', 'disabledTargets'],
  operators: ['get', 'list'],
  sessions: ['list'],
  portal: ['findLinks', 'bearers', 'list'],
  webhooks: ['get', 'list', 'deliveries'],
} as const satisfies ReadMethods

export function readApart<Name extends keyof typeof READS>(
  name: Name,
  writing: Repositories[Name],
  reading: Repositories[Name],
): Repositories[Name] {
  const reads: readonly PropertyKey[] = READS[name]
  return new Proxy(writing, { get: (_, method) => Reflect.get(reads.includes(method) ? reading : writing, method) })
}

// The ledger sums the charges of every day, which is a report.
export function accountsApart(
  writing: Repositories['accounts'],
  lists: Repositories['accounts'],
  reports: Repositories['accounts'],
): Repositories['accounts'] {
  const accounts = sortedApart(readApart('accounts', writing, lists), reports)
  return new Proxy(accounts, { get: (_, method) => Reflect.get(method === 'ledger' ? reports : accounts, method) })
}

export function keysApart(
  writing: Repositories['keys'],
  lists: Repositories['keys'],
  reports: Repositories['keys'],
): Repositories['keys'] {
  return sortedApart(readApart('keys', writing, lists), reports)
}

// A list in another order than by time reads all rows, which is a report.
function sortedApart<Repository extends { list(filter: never): unknown }>(
  others: Repository,
  reports: Repository,
): Repository {
  const list = (filter: { readonly sorting?: unknown }) =>
    (filter.sorting === undefined ? others : reports).list(filter as never)
  return new Proxy(others, { get: (_, method) => (method === 'list' ? list : Reflect.get(others, method)) })
}

// A page with a row limit is a list; a sum or a filter over everything is a report.
export function usageApart(lists: UsageReports, reports: UsageReports): UsageReports {
  return {
    get: (requestId, keyId) => lists.get(requestId, keyId),
    list: filter => (filter.lookMax === undefined ? reports : lists).list(filter),
    listByCost: (filter, rowsMax) => reports.listByCost(filter, rowsMax),
    idsByCost: (filter, rowsMax) => reports.idsByCost(filter, rowsMax),
    byIds: requestIds => reports.byIds(requestIds),
    summary: (filter, groupBy) => reports.summary(filter, groupBy),
    summaryOfRows: (filter, groupBy, rowsMax) => reports.summaryOfRows(filter, groupBy, rowsMax),
    overview: span => reports.overview(span),
  }
}
