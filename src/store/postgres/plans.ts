// A connection plans a statement when it first meets its name, and keeps to that plan however much the tables grow. So the
// names change whenever a connection has done twice as much: no plan is of tables that were far smaller than they are.
import type { PoolClient } from 'pg'

type Age = { batches: number; generation: number }

const ages = new WeakMap<PoolClient, Age>()

// One more batch. The server forgets the plans that nobody will ask for any more.
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
