// Operators' changes of providers and their credentials: each checks the version that it is based on, leaves an event without any
// secret, and is one transaction.
import { isElsewhere, PROXY_CREDENTIAL } from '../../../domain/catalog.ts'
import type { NewCredential, NewProvider, ProviderChange, ProviderEntry, Stale } from '../../contract/catalog.ts'
import type { Actor } from '../../contract/operator.ts'
import { appendEvent } from '../events.ts'
import { int, type Row, type Tx, text } from '../sql.ts'
import { changedFields } from './changes.ts'
import { readModel, readProviderById, specOfProvider } from './rows.ts'

export async function createProvider(
  tx: Tx,
  { provider, entered, active, credentials }: NewProvider,
  max: number,
  actor: Actor,
): Promise<ProviderEntry | 'exists' | 'too_many'> {
  const { id } = provider
  const stored = await tx.get('SELECT provisioned, active, version FROM provider WHERE id = $1', [id])
  // What a file no longer declares may be taken over.
  if (stored !== undefined && (int(stored.provisioned) === 0 || int(stored.active) === 1)) return 'exists'
  if (stored === undefined && int((await tx.get('SELECT COUNT(*) AS n FROM provider'))?.n) >= max) return 'too_many'
  const written = await tx.run(
    `INSERT INTO provider (id, spec, provisioned, active, created_at, entered) VALUES ($1, $2, 0, $3, $4, $5)
     ON CONFLICT (id) DO UPDATE SET spec = excluded.spec, provisioned = 0, active = excluded.active,
       created_at = excluded.created_at, entered = excluded.entered, version = provider.version + 1
     WHERE provider.version = $6`,
    [id, specOfProvider(provider), active ? 1 : 0, tx.now(), entered, int(stored?.version)],
  )
  if (written === 0) return 'exists'
  for (const credential of credentials) await insertCredential(tx, credential)
  const { kind, baseUrl } = provider
  await appendEvent(tx, actor, 'provider.create', id, { kind, baseUrl, credentials: credentials.length })
  return (await readProviderById(tx, id))!
}

export async function updateProvider(
  tx: Tx,
  id: string,
  change: ProviderChange,
  actor: Actor,
): Promise<ProviderEntry | Stale | undefined> {
  const stored = await readProviderById(tx, id)
  if (stored === undefined || stored.provisioned) return stored === undefined ? undefined : 'provisioned'
  if (stored.version !== change.basedOn) return 'changed'
  const fields = [
    ...changedFields(specOfProvider(stored.provider), specOfProvider(change.provider)),
    ...(stored.active === change.active ? [] : ['status']),
  ]
  const written = await tx.run(
    'UPDATE provider SET spec = $2, entered = $3, active = $4, version = version + 1 WHERE id = $1 AND version = $5',
    [id, specOfProvider(change.provider), change.entered, change.active ? 1 : 0, change.basedOn],
  )
  if (written === 0) return 'changed'
  const forgotten = isElsewhere(stored.provider, change.provider)
    ? await tx.run('DELETE FROM credential WHERE provider_id = $1 AND id <> $2', [id, PROXY_CREDENTIAL])
    : 0
  if (change.proxyCredential !== undefined)
    await tx.run('DELETE FROM credential WHERE provider_id = $1 AND id = $2', [id, PROXY_CREDENTIAL])
  if (change.proxyCredential) await insertCredential(tx, change.proxyCredential)
  await appendEvent(tx, actor, 'provider.update', id, { fields, credentialsForgotten: forgotten })
  return readProviderById(tx, id)
}

export async function deleteProvider(
  tx: Tx,
  id: string,
  basedOn: number | undefined,
  actor: Actor,
): Promise<'deleted' | Stale | { readonly usedBy: readonly string[] } | undefined> {
  const stored = await readProviderById(tx, id)
  if (stored === undefined) return undefined
  if (stored.provisioned && stored.active) return 'provisioned'
  if (basedOn !== undefined && stored.version !== basedOn) return 'changed'
  const usedBy = await modelsOf(tx, id)
  if (usedBy.length > 0) return { usedBy }
  if (!(await stepOn(tx, id, stored.version))) return 'changed'
  await tx.run('DELETE FROM credential WHERE provider_id = $1', [id])
  await tx.run('DELETE FROM disabled_target WHERE provider_id = $1', [id])
  await tx.run('DELETE FROM provider WHERE id = $1', [id])
  await appendEvent(tx, actor, 'provider.delete', id, { credentialsForgotten: stored.credentials.length })
  return 'deleted'
}

export async function addCredential(
  tx: Tx,
  credential: NewCredential,
  { basedOn, max }: { readonly basedOn: number; readonly max: number },
  actor: Actor,
): Promise<ProviderEntry | Stale | 'too_many' | undefined> {
  const { providerId, id, last4 } = credential
  const stored = await readProviderById(tx, providerId)
  if (stored === undefined || stored.provisioned) return stored === undefined ? undefined : 'provisioned'
  if (stored.credentials.length >= max) return 'too_many'
  if (!(await stepOn(tx, providerId, basedOn))) return 'changed'
  await insertCredential(tx, credential)
  await appendEvent(tx, actor, 'provider.credential_add', providerId, { credential: id, last4 })
  return readProviderById(tx, providerId)
}

export async function removeCredential(
  tx: Tx,
  providerId: string,
  id: string,
  actor: Actor,
): Promise<ProviderEntry | undefined> {
  const removed = await tx.run('DELETE FROM credential WHERE provider_id = $1 AND id = $2', [providerId, id])
  if (removed === 0) return undefined
  await tx.run('UPDATE provider SET version = version + 1 WHERE id = $1', [providerId])
  await appendEvent(tx, actor, 'provider.credential_remove', providerId, { credential: id })
  return readProviderById(tx, providerId)
}

// Whether it still had this version; the row is then locked until the transaction ends.
async function stepOn(tx: Tx, id: string, version: number): Promise<boolean> {
  const stepped = 'UPDATE provider SET version = version + 1 WHERE id = $1 AND version = $2'
  return (await tx.run(stepped, [id, version])) === 1
}

async function insertCredential(tx: Tx, { providerId, id, ciphertext, last4 }: NewCredential): Promise<void> {
  await tx.run('INSERT INTO credential (provider_id, id, sealed, last4, created_at) VALUES ($1, $2, $3, $4, $5)', [
    providerId,
    id,
    ciphertext,
    last4,
    tx.now(),
  ])
}

async function modelsOf(tx: Tx, providerId: string): Promise<readonly string[]> {
  const rows: readonly Row[] = await tx.all(
    'SELECT id, spec, price, price_version, created_at FROM model WHERE active = 1 OR provisioned = 0',
  )
  return rows
    .filter(row => readModel(row).targets.some(target => target.provider === providerId))
    .map(row => text(row.id))
    .sort()
}
