// Deletes every stored credential, for an operator whose key no longer opens them.
import type { Actor } from '../contract-operator.ts'
import { appendEvent } from './events.ts'
import type { Sql } from './sql.ts'

export function forgetCredentials(sql: Sql, actor: Actor): Promise<number> {
  return sql.transaction(async tx => {
    const credentialsForgotten = await tx.run('DELETE FROM credential')
    await appendEvent(tx, actor, 'credentials.forget', 'catalog', { credentialsForgotten })
    return credentialsForgotten
  }, 'catalog')
}
