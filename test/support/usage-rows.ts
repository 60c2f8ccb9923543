// Usage rows written directly into the table, with any time.
import type { Param } from '../../src/store/sql/sql.ts'
import { idAt } from '../../src/store/sql/time-order.ts'
import type { Repositories } from './engines.ts'

// Returns its request id.
export async function addRow(
  repositories: Repositories,
  at: number,
  more: Readonly<Record<string, Param>> = {},
): Promise<string> {
  const row: Record<string, Param> = {
    request_id: idAt(at),
    account_id: 'acct_1',
    key_id: 'key_1',
    secret_last4: 'abcd',
    endpoint: 'chat.completions',
    stream: 0,
    state: 'settled',
    outcome: 'completed',
    created_at: at,
    finished_at: at + 10,
    client_ip: '192.0.2.1',
    ...more,
  }
  const names = Object.keys(row)
  await repositories.sql.run(
    `INSERT INTO usage (${names.join(', ')}) VALUES (${names.map((_, i) => `$${i + 1}`).join(', ')})`,
    Object.values(row),
  )
  return String(row.request_id)
}
