// Callers that use one secret after the other while an operator revokes each of them, on one gateway or on several that
// share a store: it finds every admitted request that started after the operator had the response.
import assert from 'node:assert/strict'
import { Pool } from 'undici'
import { until } from './until.ts'

const CALLERS = 6

export type Turn = { readonly secret: string; shutOut(): Promise<{ readonly status: number }> }
type Victim = { readonly secret: string; served: number; shutOutAt: number; tries: number }

// Each is revoked as soon as it is being served; the callers use the current one, the next one, and those already
// revoked, each on its own gateway.
export async function shutOutUnderLoad(urls: readonly string[], turns: readonly Turn[]): Promise<void> {
  const victims = turns.map(({ secret }): Victim => ({ secret, served: 0, shutOutAt: Infinity, tries: 0 }))
  const admittedLate: string[] = []
  const pools = urls.map(url => new Pool(url, { connections: CALLERS, pipelining: 1 }))
  let turn = 0
  let over = false

  async function hammer(caller: number): Promise<void> {
    const pool = pools[caller % pools.length] as Pool
    for (let i = caller; !over; i++) {
      const victim = victims[Math.min(victims.length - 1, Math.max(0, turn + 1 - (i % 4)))] as Victim
      const startedAt = performance.now()
      const status = await callAs(victim.secret, i % 3, pool)
      const late = startedAt > victim.shutOutAt
      if (status === 200) victim.served += 1
      if (late) victim.tries += 1
      if (late && ![401, 403, 429].includes(status)) admittedLate.push(`${status} to victim ${victims.indexOf(victim)}`)
    }
  }

  const callers = Array.from({ length: CALLERS }, (_, caller) => hammer(caller))
  try {
    for (turn = 0; turn < turns.length; turn++) await takeTurn(turn)
  } finally {
    over = true
    await Promise.all(callers)
    await Promise.all(pools.map(pool => pool.close()))
  }

  async function takeTurn(i: number): Promise<void> {
    const victim = victims[i] as Victim
    await until(`victim ${i} is served`, () => victim.served > 0)
    assert.equal((await turns[i]?.shutOut())?.status, 200)
    victim.shutOutAt = performance.now()
    await until(`victim ${i} has tried again`, () => victim.tries > 1)
  }

  assert.deepEqual(admittedLate, [])
}

// By `kind` a list of models, a chat or a stream.
export async function callAs(secret: string, kind: number, pool: Pool): Promise<number> {
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    model: 'test/m1',
    messages: [{ role: 'user', content: 'Hello' }],
    max_tokens: 5,
    stream: kind === 2,
  })
  const answer = await (kind === 0
    ? pool.request({ path: '/v1/models', method: 'GET', headers })
    : pool.request({ path: '/v1/chat/completions', method: 'POST', headers, body }))
  await answer.body.dump()
  return answer.statusCode
}

// A few at a time: each is several calls.
export async function makeMany<T>(count: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  while (made.length < count) {
    const missing = Math.min(10, count - made.length)
    made.push(...(await Promise.all(Array.from({ length: missing }, make))))
  }
  return made
}
