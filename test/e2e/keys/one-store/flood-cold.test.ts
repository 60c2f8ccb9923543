// On Postgres a key that the node has not seen yet is looked up and served while its own address floods the node with
// well-formed unknown keys, and while another address does.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Pool } from 'undici'
import { encodeBase62 } from '../../../../src/lib/base62.ts'
import { type Gateway, standardConfig } from '../../../support/gateway.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { startUpstream } from '../../../support/upstream.ts'

const FLOODERS = 600
const COLD_KEYS = 20
const FLOODING = '203.0.113.5'
const ELSEWHERE = '203.0.113.6'

if (hasPostgres()) {
  test('20 uncached keys from a flooding address and 20 from another one are all served', async () => {
    await using upstream = await startUpstream()
    await using nodes = await startNodes(1, {
      config: standardConfig(upstream.url),
      env: { TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' },
    })
    const [gateway] = nodes.all
    assert.ok(gateway !== undefined)
    const { id: accountId } = await gateway.createAccount()
    const secrets: string[] = []
    for (let i = 0; i < 2 * COLD_KEYS; i++) secrets.push((await gateway.createKey({ account_id: accountId })).secret)
    const flood = await startFlood(gateway, FLOODING)
    const pool = new Pool(gateway.url, { connections: 2 * COLD_KEYS, headersTimeout: 0, bodyTimeout: 0 })

    const statuses = await Promise.all(
      secrets.map((secret, i) => statusOf(pool, secret, i < COLD_KEYS ? FLOODING : ELSEWHERE)),
    )
    const flooded = await flood.stop()
    await pool.close()

    assert.deepEqual(statuses, Array(2 * COLD_KEYS).fill(200))
    // Each of them got an answer, and none was refused without a lookup.
    assert.deepEqual([...flooded.keys()].sort(), [401, 429])
  })
}

type Flood = { stop(): Promise<ReadonlyMap<number, number>> }

// Each connection sends one unknown key after the other until it is stopped; this resolves when all of them have sent
// one.
async function startFlood(gateway: Gateway, address: string): Promise<Flood> {
  const pool = new Pool(gateway.url, { connections: FLOODERS, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 })
  const counts = new Map<number, number>()
  let isOver = false
  const ask = async () => {
    const status = await statusOf(pool, unknownKey(), address)
    counts.set(status, (counts.get(status) ?? 0) + 1)
  }
  const askOn = async () => {
    while (!isOver) await ask()
  }
  await Promise.all(Array.from({ length: FLOODERS }, ask))
  const flooders = Array.from({ length: FLOODERS }, askOn)
  return {
    async stop() {
      isOver = true
      await Promise.all(flooders)
      await pool.close()
      return counts
    },
  }
}

async function statusOf(pool: Pool, secret: string, address: string): Promise<number> {
  const headers = { authorization: `Bearer ${secret}`, 'x-forwarded-for': address }
  const { statusCode, body } = await pool.request({ path: '/v1/models', method: 'GET', headers })
  await body.dump()
  return statusCode
}

function unknownKey(): string {
  return `svc_live_${encodeBase62(randomBytes(32))}`
}
