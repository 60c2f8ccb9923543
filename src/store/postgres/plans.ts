// A connection plans a prepared statement once and keeps that plan however much the tables grow. The statement names therefore
// change whenever a connection has executed twice as many batches: no plan is for tables that were far smaller.
import type { PoolClient } from 'pg'

type Age = { batches: number; generation: number }

const ages = new WeakMap<PoolClient, Age>()

// One more batch. Plans that will not be used again are deallocated.
export async function renewPlans(client: PoolClient): Promise<void> {
  const age = ages.get(client) ?? { batches: 0, generation: 0 }
  ages.set(client, age)
  age.batches += 1
  if (age.batches !== 2 << age.generation) return
  age.generation += 1
  await client.query('DEALLOCATE ALL')
}

export function planName(client: PoolClient, statement: string): string {
  return `${statement}-${ages.get(client)?.generation ?? 0}`
}
