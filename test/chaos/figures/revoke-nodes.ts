// S6: keys are revoked on one node while all nodes serve them. No node admits a request that starts after the revoke
// has returned.
import type { Gateway } from '../../support/gateway.ts'
import { startRedisNodes } from '../../support/redis-nodes.ts'
import { makeMany, shutOutUnderLoad } from '../../support/revocation-load.ts'
import type { Figure } from './figure.ts'

const NODES = 3
const AT_ONCE = 100

export const revokeNodes: Figure = {
  name: 'S6',
  about: `requests admitted at ${NODES} nodes after a revoke returned`,
  unit: 'revokes',
  small: 100,
  async run({ size, random, say }) {
    await using fixture = await startRedisNodes(NODES)
    const { nodes, upstream } = fixture
    const first = nodes[0] as Gateway
    const { id: accountId } = await first.createAccount()
    await first.addCredits(accountId, '100000')
    const free = { account_id: accountId, rpm_limit: 1_000_000, daily_limit: null, max_concurrent: 1000 }

    for (let revoked = 0; revoked < size; revoked += AT_ONCE) {
      const keys = await makeMany(Math.min(AT_ONCE, size - revoked), () => first.createKey(free))
      const turns = keys.map(({ id, secret }) => {
        const node = nodes[Math.floor(random() * NODES)] as Gateway
        return { secret, shutOut: () => node.admin('POST', `/keys/${id}/revoke`, {}) }
      })
      const urls = nodes.map(node => node.url)
      await shutOutUnderLoad(urls, turns)
      say(revoked + keys.length)
    }
    await upstream.idle()
    return { admittedLate: 0 }
  },
}
