// S4: more requests than the funds cover, at once on several nodes. Exactly those that the funds cover are served.
import assert from 'node:assert/strict'
import { type Gateway, standardConfig } from '../../support/gateway.ts'
import { startRedisNodes } from '../../support/redis-nodes.ts'
import { standardModel } from '../../support/standard-config.ts'
import { balanceOf, credits } from '../../support/usage.ts'
import type { Figure } from './figure.ts'

const NODES = 2
const FUNDED = 100
const AT_ONCE = 250
// The exact cost of a request, so that holds equal charges.
const PRICE = 10_000_000n

export const overdraw: Figure = {
  name: 'S4',
  about: `overdraft at ${NODES} nodes with funds for exactly ${FUNDED}`,
  unit: 'attempts',
  small: 500,
  async run({ size, random, say }) {
    const pricing = { prompt: '0', completion: '0', request: credits(PRICE) }
    const config = (url: string) => standardConfig(url, { models: [standardModel({ pricing })] })
    await using fixture = await startRedisNodes(NODES, { config })
    const { nodes, upstream } = fixture
    const first = nodes[0] as Gateway
    const unlimited = { rpm_limit: 1_000_000, daily_limit: null, max_concurrent: 1000 }
    const caller = await first.createKey({ credits: credits(PRICE * BigInt(FUNDED)), ...unlimited })
    const other = await first.createKey({ account_id: caller.accountId, ...unlimited })
    upstream.script(() => ({ delayMs: random() * 40 }))

    const statuses = new Map<number, number>()
    for (let tried = 0; tried < size; tried += AT_ONCE) {
      const asked = Array.from({ length: Math.min(AT_ONCE, size - tried) }, async () => {
        const node = nodes[Math.floor(random() * NODES)] as Gateway
        const { status } = await node.chat(
          { max_tokens: 5 },
          { key: random() < 0.5 ? caller.secret : other.secret, timeoutMs: 60_000 },
        )
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      })
      await Promise.all(asked)
      say(tried + asked.length)
    }

    assert.deepEqual(Object.fromEntries(statuses), { 200: FUNDED, 402: size - FUNDED })
    assert.equal(upstream.journal.length, FUNDED)
    const spent = credits(PRICE * BigInt(FUNDED))
    assert.deepEqual(await balanceOf(first, caller.accountId), { available: '0', held: '0', spent, owed: '0' })
    return Object.fromEntries(statuses)
  },
}
