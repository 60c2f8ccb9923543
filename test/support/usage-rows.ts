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

// The account of these rows, and keys of it: sums of a key are found by its account.
export async function addKeys({ sql }: Repositories, ids: readonly string[]): Promise<void> {
  await sql.run("INSERT INTO account (id, name, created_at) VALUES ('acct_1', 'a', 0)")
  for (const id of ids) {
    await sql.run(
      `INSERT INTO api_key (id, account_id, name, scopes, ip_allowlist, rpm_limit, max_concurrent, created_at)
       VALUES ($1, 'acct_1', 'k', '[]', '[]', 1, 1, 0)`,
      [id],
    )
  }
}
