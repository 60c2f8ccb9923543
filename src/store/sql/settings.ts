// Small named values that outlive the process: the hash of the admin token, the default account, the flag that a first start has
// shown its secrets.
import type { Settings } from '../contract/operator.ts'
import { type Sql, text } from './sql.ts'

export function sqlSettings(sql: Sql): Settings {
  return {
    async get(name) {
      const row = await sql.get('SELECT value FROM setting WHERE name = $1', [name])
      return row === undefined ? undefined : text(row.value)
    },
    async set(name, value) {
      await sql.run(
        'INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        [name, value],
      )
    },
  }
}
