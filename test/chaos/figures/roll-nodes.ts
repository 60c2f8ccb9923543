// S15: nodes behind a load balancer are restarted one after the other, repeatedly, under streams and short requests. No
// stream is cut and no request fails.
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { startBalancer } from '../../support/balancer.ts'
import { type Gateway, standardConfig } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'
import { startRedisNodes } from '../../support/redis-nodes.ts'
import { openStream } from '../../support/sse.ts'
import type { Figure } from './figure.ts'

const NODES = 3
const STREAMS = 500
const CALLERS = 4
// Each stream takes about four seconds, so that this number is always open.
const WORDS = [' one', ' two', ' three']
const WORD_MS = 2000
// Long enough for the balancer, which shares this process with all callers, to notice that a node is no longer ready.
const DRAIN_DELAY_S = 3

export const rollNodes: Figure = {
  name: 'S15',
  about: `streams cut by rolling restarts of ${NODES} nodes with ${STREAMS} of them open`,
  unit: 'restarts',
  small: 2,
  async run({ size, random, say }) {
    await using fixture = await startRedisNodes(NODES, {
      config: url => standardConfig(url, { drain_delay: DRAIN_DELAY_S }),
    })
    const { nodes, upstream } = fixture
    await using balancer = await startBalancer(nodes.map(node => node.port))
    upstream.script(entry => (entry.stream ? { words: WORDS, chunkDelayMs: WORD_MS } : {}))
    const unlimited = { rpm_limit: 1_000_000, daily_limit: null, max_concurrent: 1000 }
    const key = await (nodes[0] as Gateway).createKey({ credits: '100000', ...unlimited })
    const url = `${balancer.url}/v1/chat/completions`
    const body = { model: 'test/m1', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello' }] }
    const wrong: string[] = []
    let [streams, answers, isOver] = [0, 0, false]

    const streaming = Array.from({ length: STREAMS }, async () => {
      await setTimeout(random() * WORDS.length * WORD_MS)
      while (!isOver) {
        const stream = await openStream(url, { body: { ...body, stream: true }, key: key.secret, headers: {} })
        const { content, done } = await stream.rest()
        if (stream.status !== 200 || !done || content !== WORDS.join('')) wrong.push(`${stream.status} ${content}`)
        streams += 1
      }
    })
    const calling = Array.from({ length: CALLERS }, async () => {
      while (!isOver) {
        const answer = await httpCall(url, { body, headers: { authorization: `Bearer ${key.secret}` } })
        if (answer.status !== 200) wrong.push(`${answer.status} ${answer.text}`)
        answers += 1
        await setTimeout(100)
      }
    })
    for (let restart = 1; restart <= size; restart++) {
      for (const node of nodes) {
        assert.equal(await node.stop({ timeoutMs: 60_000 }), 0)
        await node.restart()
      }
      say(restart)
    }
    isOver = true
    await Promise.all([...streaming, ...calling])

    assert.deepEqual([balancer.failures, wrong], [[], []])
    assert.ok(streams >= STREAMS && answers > 0)
    return { streams, answers }
  },
}
