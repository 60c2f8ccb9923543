// Thousands of fuzzed requests against the running gateway: none may crash it or cause a 5xx, and every response is
// complete and documented.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import fc from 'fast-check'
import { standardConfig, startGateway } from '../support/gateway.ts'
import { type FuzzedRequest, fuzzedRequest } from '../support/http-fuzz.ts'
import { Agent, request } from '../support/node-http.ts'
import { assertCommonHeaders, assertRefusal, CODES, type Code, type Seen } from '../support/refusal.ts'
import { assertChatCompletion, assertChunk } from '../support/schemas.ts'
import { parseSse } from '../support/sse.ts'
import { startUpstream } from '../support/upstream.ts'

const AT_ONCE = 16
const BATCHES_MAX = 1000
const MS_MAX = 12_000

test('no input causes a 5xx, a crash or an undocumented answer', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey({ credits: '1000000', rpm_limit: 10_000_000, daily_limit: null })
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const { pid } = gateway
  const statuses = new Map<number, number>()

  const batch = fc.asyncProperty(
    fc.array(fuzzedRequest, { minLength: 1, maxLength: AT_ONCE, size: 'max' }),
    async requests => {
      const answers = await Promise.all(requests.map(each => send(gateway.port, secret, each, agent)))
      for (const answer of answers) {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
        assertWhole(answer)
      }
    },
  )
  await fc.assert(batch, { numRuns: BATCHES_MAX, interruptAfterTimeLimit: MS_MAX, markInterruptAsFailure: false })
  agent.destroy()
  t.diagnostic(`fuzzed requests by status: ${JSON.stringify(Object.fromEntries(statuses))}`)

  const served = statuses.get(200) ?? 0
  assert.ok(served > 20 && (statuses.get(400) ?? 0) > 20, `unbalanced fuzzing: ${JSON.stringify([...statuses])}`)
  assert.equal((await gateway.get('/health')).status, 200)
  assert.equal(gateway.pid, pid)
  assert.deepEqual(
    gateway.logs.filter(line => Number(line.level) >= 50),
    [],
  )
  for (const entry of upstream.journal) assert.equal((entry.body as { model: unknown }).model, 'm1')
  assert.ok((await gateway.audit()).ok)
})

async function send(port: number, secret: string, fuzzed: FuzzedRequest, agent: Agent): Promise<Seen> {
  const { method, path, body } = fuzzed
  const length: Record<string, string> = body === undefined ? {} : { 'content-length': String(body.length) }
  const headers = { ...fuzzed.headers, ...length, authorization: `Bearer ${secret}` }
  const outgoing = request({
    port,
    host: '127.0.0.1',
    method,
    path,
    agent,
    headers,
    signal: AbortSignal.timeout(20_000),
  })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of incoming) pieces.push(piece as Buffer)
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, text: Buffer.concat(pieces).toString() }
}

function assertWhole(answer: Seen): void {
  assert.ok(answer.status < 500, answer.text)
  assertCommonHeaders(answer.headers)
  if (answer.status >= 400) {
    const { error } = JSON.parse(answer.text) as { error: { code: Code; param: string | null } }
    assert.ok(Object.hasOwn(CODES, error.code), answer.text)
    assertRefusal(answer, error.code, error.param)
  } else if (answer.headers['content-type']?.startsWith('text/event-stream')) {
    const { chunks, doneCount, afterDone } = parseSse(answer.text)
    for (const chunk of chunks) assertChunk(chunk)
    assert.deepEqual([doneCount, afterDone], [1, 0])
  } else if (answer.text.startsWith('{"id":"chatcmpl-')) assertChatCompletion(JSON.parse(answer.text))
}
