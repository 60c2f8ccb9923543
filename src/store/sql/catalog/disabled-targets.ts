// Targets that operators have disabled, and tests of targets, each with its audit event.
import type { DisabledTarget, TargetTest } from '../../contract/catalog.ts'
import type { Actor } from '../../contract/operator.ts'
import { appendEvent } from '../events.ts'
import { int, type Tx, text } from '../sql.ts'

export async function readDisabledTargets(tx: Tx, providerId?: string): Promise<readonly DisabledTarget[]> {
  const rows = await tx.all(
    'SELECT provider_id, model, actor, disabled_at FROM disabled_target WHERE provider_id = COALESCE($1, provider_id)',
    [providerId ?? null],
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
  if (disabled && (await readDisabledTargets(tx)).length >= max) return 'too_many'
  const changed = disabled
    ? await tx.run(
        `INSERT INTO disabled_target (provider_id, model, actor, disabled_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (provider_id, model) DO NOTHING`,
        [providerId, model, actor.name, tx.now()],
      )
    : await tx.run('DELETE FROM disabled_target WHERE provider_id = $1 AND model = $2', [providerId, model])
  if (changed > 0) await appendEvent(tx, actor, disabled ? 'target.disable' : 'target.enable', providerId, { model })
  return 'done'
}

export async function recordTest(tx: Tx, { providerId, model, outcome }: TargetTest, actor: Actor): Promise<void> {
  await appendEvent(tx, actor, 'target.test', providerId, { model, outcome })
}
