// The operator's side of the store in SQL: all repositories over one connection.
import type { Store } from '../contract/store.ts'
import { sqlAccounts } from './accounts.ts'
import { sqlCatalog } from './catalog/catalog.ts'
import { sqlEvents } from './events.ts'
import { sqlKeys } from './keys.ts'
import { sqlOperators } from './operators.ts'
import { type Retention, sqlRetention } from './retention.ts'
import { sqlSessions } from './sessions.ts'
import { sqlSettings } from './settings.ts'
import type { Sql } from './sql.ts'
import { type Hours, sqlHours } from './usage/hours.ts'
import { sqlUsage } from './usage/usage.ts'

export type Repositories = Pick<
  Store,
  'keys' | 'accounts' | 'usage' | 'catalog' | 'events' | 'settings' | 'operators' | 'sessions'
> & { readonly hours: Hours; readonly retention: Retention }

export function sqlRepositories(sql: Sql): Repositories {
  return {
    keys: sqlKeys(sql),
    accounts: sqlAccounts(sql),
    usage: sqlUsage(sql),
    catalog: sqlCatalog(sql),
    events: sqlEvents(sql),
    settings: sqlSettings(sql),
    operators: sqlOperators(sql),
    sessions: sqlSessions(sql),
    hours: sqlHours(sql),
    retention: sqlRetention(sql),
  }
}
