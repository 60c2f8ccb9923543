// Operators' actions, written in the transaction that performs them, so that no change lacks its event and no event its change.
import { formatCredits } from '../../domain/credits.ts'
import { storable } from '../../domain/usage.ts'
import type { Actor, Events, OperatorEvent } from '../contract/operator.ts'
import { searchNewest } from './search.ts'
import { int, page, type Row, type Sql, type Tx, text, textOrNull } from './sql.ts'
import { idAt, timePrefix } from './time-order.ts'

// Changes without an operator: an expiry that passed, a file that was applied.
export const SYSTEM: Actor = { name: 'system', address: '' }

const NAME_MAX = 200
const DETAIL_MAX = 4000

export function sqlEvents(sql: Sql): Events {
  return {
    async list({ limit, after, actor, action, subject, from, to }) {
      const rows = await searchNewest(
        {
          columns: 'id, at, actor, actor_id, address, action, subject, detail',
          table: 'event',
          id: 'id',
          after,
          indexed(asked) {
            asked.add('subject = ?', subject)
            // Ids are created at the same moment as `at`.
            asked.add('id >= ?', from === undefined ? undefined : timePrefix(from))
            asked.add('id < ?', to === undefined ? undefined : timePrefix(to))
          },
          compared(asked) {
            asked.add('actor = ?', actor)
            // `key` matches every action on keys: `key.create`, `key.revoke`, …
            if (action?.includes('.')) asked.add('action = ?', action)
            else if (action !== undefined) asked.add("action LIKE ? ESCAPE '!'", `${action.replace(/[!%_]/g, '!$&')}.%`)
          },
        },
        limit + 1,
        sql,
      )
      return page(rows, limit, readEvent)
    },
  }
}

export async function appendEvent(
  tx: Tx,
  actor: Actor,
  action: string,
  subject: string,
  detail?: Readonly<Record<string, unknown>>,
): Promise<void> {
  await tx.run(
    `INSERT INTO event (id, at, actor, actor_id, address, action, subject, detail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      idAt(tx.now()),
      tx.now(),
      storable(actor.name, NAME_MAX),
      actor.id ?? null,
      storable(actor.address, NAME_MAX),
      action,
      storable(subject, NAME_MAX),
      detail === undefined ? null : storable(JSON.stringify(detail, amountAsCredits), DETAIL_MAX),
    ],
  )
}

function readEvent(row: Row): OperatorEvent {
  return {
    id: text(row.id),
    at: int(row.at),
    actor: text(row.actor),
    actor_id: textOrNull(row.actor_id),
    address: text(row.address),
    action: text(row.action),
    subject: text(row.subject),
    detail: textOrNull(row.detail),
  }
}

// Readers see limits and budgets as they were entered, not in nano-credits.
function amountAsCredits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? formatCredits(value) : value
}
