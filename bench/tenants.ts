// The same gateway with more and more tenants: what a chat costs when the keys in use belong to that many accounts. Every gateway
// has its own store, and its tenants are in it before it starts.

import { join } from 'node:path'
import { ENCRYPTION_KEY } from '../test/support/gateway.ts'
import type { Contestant, Place, Running } from './contestant.ts'
import type { Postgres } from './postgres.ts'
import { seedTenants, tenantSecret } from './tenant-keys.ts'
import { ROOT, startTurnpike } from './turnpike.ts'

export type Tenanted = Contestant & { readonly tenants: number; readonly isBefore: boolean }

// On the embedded store if there is no Postgres. With another checkout, each number of tenants runs on both, one after the other.
export function tenanted(
  counts: readonly number[],
  before: string | undefined,
  postgres: Postgres | undefined,
): readonly Tenanted[] {
  return counts.flatMap(tenants => {
    const name = `${tenants.toLocaleString('en')} ${tenants === 1 ? 'tenant' : 'tenants'}`
    const now = { name, tenants, isBefore: false, start: (place: Place) => start(place, ROOT, tenants, postgres) }
    if (before === undefined) return [now]
    const earlier = (place: Place) => start(place, before, tenants, postgres)
    return [{ name: `${name}, before`, tenants, isBefore: true, start: earlier }, now]
  })
}

async function start(place: Place, root: string, tenants: number, postgres: Postgres | undefined): Promise<Running> {
  const headers = { authorization: `Bearer ${tenantSecret(0)}` }
  if (postgres === undefined) {
    await seedTenants(root, { folder: join(place.folder, 'data') }, tenants)
    return { ...(await startTurnpike(place, {}, 'contestant', root)), headers, tenants }
  }
  const url = await postgres.freshDatabase()
  await seedTenants(root, { url }, tenants)
  const env = { DATABASE_URL: url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY }
  return { ...(await startTurnpike(place, env, 'contestant', root)), headers, tenants, database: postgres }
}
