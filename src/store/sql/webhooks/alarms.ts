// Alarms in SQL: a row is there while an alarm is on, so that of several nodes one raises its event.
import { DAY_MS } from '../../../domain/key.ts'
import { isoTime } from '../../../domain/wire-time.ts'
import type { Alarm, Alarms } from '../../contract/webhooks.ts'
import { emit } from '../outbox.ts'
import { int, type Sql, type Tx, text } from '../sql.ts'

const NAMES_MAX = 10_000
const PROVIDER = 'provider '

export function sqlAlarms(sql: Sql): Alarms {
  return {
    begin: alarm =>
      sql.transaction(async tx => {
        const isNew = await tx.run(
          `INSERT INTO alarm (name, raised_at) VALUES ($1, $2)
           ON CONFLICT (name) DO UPDATE SET raised_at = excluded.raised_at WHERE alarm.raised_at <= $3`,
          [nameOf(alarm), tx.now(), tx.now() - DAY_MS],
        )
        if (isNew > 0) await raise(tx, alarm)
        return isNew > 0
      }),

    end: alarm =>
      sql.transaction(async tx => {
        const row = await tx.get('DELETE FROM alarm WHERE name = $1 RETURNING raised_at', [nameOf(alarm)])
        if (row === undefined) return false
        if (alarm.kind === 'provider') {
          const data = { provider_id: alarm.providerId, unavailable_since: isoTime(int(row.raised_at)) }
          await emit(tx, { type: 'provider.recovered', accountId: null, once: null, data })
        }
        return true
      }),

    async unavailableProviders() {
      const rows = await sql.all(
        `SELECT name FROM alarm WHERE name >= $1 AND name < $2 ORDER BY name LIMIT ${NAMES_MAX}`,
        [PROVIDER, `${PROVIDER}~`],
      )
      return rows.map(row => text(row.name).slice(PROVIDER.length))
    },
  }
}

function nameOf(alarm: Alarm): string {
  return alarm.kind === 'provider' ? PROVIDER + alarm.providerId : `credential ${alarm.providerId} ${alarm.credential}`
}

async function raise(tx: Tx, alarm: Alarm): Promise<void> {
  const { providerId: provider_id } = alarm
  const common = { accountId: null, once: null }
  if (alarm.kind === 'provider')
    await emit(tx, { ...common, type: 'provider.unavailable', data: { provider_id, targets: alarm.targets } })
  else await emit(tx, { ...common, type: 'credential.rejected', data: { provider_id, credential: alarm.credential } })
}
