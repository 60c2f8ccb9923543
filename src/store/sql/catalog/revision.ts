// The catalog's revision: every change increments it in its own transaction, so a node that has seen this number has seen the
// change.
import { int, type Tx } from '../sql.ts'

export const CATALOG_REVISION = 'catalog_revision'

export async function readRevision(tx: Tx): Promise<number> {
  return int((await tx.get('SELECT value FROM setting WHERE name = $1', [CATALOG_REVISION]))?.value)
}

export async function stepRevision(tx: Tx): Promise<void> {
  await tx.run(
    `INSERT INTO setting (name, value) VALUES ($1, '1')
     ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT)`,
    [CATALOG_REVISION],
  )
}
