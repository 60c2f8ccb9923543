// Three nodes behind a load balancer are restarted one after the other, again and again, under streams and short requests:
// no stream is cut and no request fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBalancer } from '../kit/balancer.ts'
import { standardConfig } from '../kit/gateway.ts'
import { httpCall } from '../kit/http-call.ts'
import { startNodes } from '../kit/nodes.ts'
import { hasPostgres } from '../kit/postgres.ts'
import { openStream } from '../kit/sse.ts'
import { startUpstream } from '../kit/upstream.ts'

// More for a full run.
const RESTARTS = Number(process.env.RESTARTS ?? 2)
const STREAMS = Number(process.env.STREAMS ?? 30)
const WORDS = Array.from({ length: 20 }, (_, i) => ` ${i}`)

if (hasPostgres()) {
  test(`${RESTARTS} rolling restarts of three nodes with ${STREAMS} open streams: none cut, none failed`, async t => {
    await using upstream = await startUpstream()
    const config = standardConfig(upstream.url, { drain_delay: 1 })
    await using nodes = await startNodes(3, { config })
    await using balancer = await startBalancer(nodes.all.map(node => node.port))
    upstream.script(entry => (entry.stream ? { words: WORDS, chunkDelayMs: 100 } : {}))
    const key = await nodes.all[0]!.createKey({ credits: '1000', rpm_limit: 1_000_000, daily_limit: null })
    const url = `${balancer.url}/v1/chat/completions`
    const body = { model: 'test/m1', messages: [{ role: 'user', content: 'Say hello' }] }
    const wrong: string[] = []
    let [streams, answers, isOver] = [0, 0, false]

    const streaming = Array.from({ length: STREAMS }, async () => {
      while (!isOver) {
        const stream = await openStream(url, { body: { ...body, stream: true }, key: key.secret, headers: {} })
        const { content, done } = await stream.rest()
        if (stream.status !== 200 || !done || content !== WORDS.join('')) wrong.push(`${stream.status} ${content}`)
        streams += 1
      }
    })
    const calling = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const answer = await httpCall(url, { body, headers: { authorization: `Bearer ${key.secret}` } })
        if (answer.status !== 200) wrong.push(`${answer.status} ${answer.text}`)
        answers += 1
        await new Promise(resolve => setTimeout(resolve, 20))
      }
    })
    for (let restart = 0; restart < RESTARTS; restart++) {
      for (const node of nodes.all) {
        assert.equal(await node.stop({ timeoutMs: 60_000 }), 0)
        await node.restart()
      }
    }
    isOver = true
    await Promise.all([...streaming, ...calling])

    t.diagnostic(`${streams} streams, ${answers} answers`)
    assert.deepEqual([balancer.failures, wrong], [[], []])
    assert.ok(streams >= STREAMS && answers > 0)
  })
}
