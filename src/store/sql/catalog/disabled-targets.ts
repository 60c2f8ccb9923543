// Targets that operators have disabled, and tests of targets, each with its audit event.
import type { DisabledTarget, TargetTest } from '../../contract/catalog.ts'
import type { Actor } from '../../contract/operator.ts'
import { conditions } from '../conditions.ts'
import { appendEvent } from '../events.ts'
import { int, type Tx, text } from '../sql.ts'

export async function readDisabledTargets(tx: Tx, providerId?: string): Promise<readonly DisabledTarget[]> {
  const asked = conditions()
  asked.add('provider_id = ?', providerId)
  const rows = await tx.all(
    `SELECT provider_id, model, actor, disabled_at FROM disabled_target ${asked.where()} ORDER BY provider_id, model`,
    asked.params,
  )
  return rows.map(row => ({
    providerId: text(row.provider_id),
    model: text(row.model),
    actor: text(row.actor),
    disabledAt: int(row.disabled_at),
  }))
}

// Undefined: there is no such provider. Nothing changes, and there is no event, if it is disabled or enabled already.
export async function setTargetDisabled(
  tx: Tx,
  target: { readonly providerId: string; readonly model: string },
  disabled: boolean,
  max: number,
  actor: Actor,
): Promise<'done' | 'too_many' | undefined> {
  const { providerId, model } = target
  if ((await tx.get('SELECT id FROM provider WHERE id = $1', [providerId])) === undefined) return undefined
  const isDisabled = await tx.get('SELECT model FROM disabled_target WHERE provider_id = $1 AND model = $2', [
    providerId,
    model,
  ])
  if (disabled === (isDisabled !== undefined)) return 'done'
  if (disabled) {
    if (int((await tx.get('SELECT COUNT(*) AS n FROM disabled_target'))?.n) >= max) return 'too_many'
    await tx.run('INSERT INTO disabled_target (provider_id, model, actor, disabled_at) VALUES ($1, $2, $3, $4)', [
      ...[providerId, model, actor.name, tx.now()],
    ])
  } else {
    await tx.run('DELETE FROM disabled_target WHERE provider_id = $1 AND model = $2', [providerId, model])
  }
  await appendEvent(tx, actor, disabled ? 'target.disable' : 'target.enable', providerId, { model })
  return 'done'
}

export async function recordTest(tx: Tx, { providerId, model, outcome }: TargetTest, actor: Actor): Promise<void> {
  await appendEvent(tx, actor, 'target.test', providerId, { model, outcome })
}
