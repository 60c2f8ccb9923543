// No free descriptor for an upstream connection: callers get 503, no upstream is blamed, the store continues, and
// everything works again as soon as descriptors are free.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { standardConfig } from '../../support/gateway.ts'
import { openRaw } from '../../support/raw-http.ts'
import { assertRefusal, seen } from '../../support/refusal.ts'
import { until } from '../../support/until.ts'

const DESCRIPTORS = 256
const PATIENCE_MS = 60_000

const { gateway, upstream } = await openFixture(standardConfig, { descriptorsMax: DESCRIPTORS })

async function newKey(): Promise<string> {
  return (await gateway.createKey({ rpm_limit: 1_000_000, daily_limit: null })).secret
}

function chatOf(secret: string): string {
  const text = JSON.stringify({ model: 'test/m1', messages: [{ role: 'user', content: 'Hello' }] })
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  )
}

// All that is visible of a target that is not called.
async function assertNobodyBlamed(): Promise<void> {
  const { body } = await gateway.admin<{ targets: readonly { state: string }[] }>('GET', '/providers/up/health')
  assert.deepEqual([...new Set(body.targets.map(({ state }) => state))], ['closed'])
  assert.deepEqual(
    gateway.lines.filter(line => line.includes('breaker_opened') || line.includes('unexpected error')),
    [],
  )
}

test('without a free descriptor callers get 503, and are served once there is one', async () => {
  const secret = await newKey()
  const callers = await Promise.all(Array.from({ length: 20 }, () => openRaw(gateway.port)))
  for (const caller of callers)
    caller.send(`GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`)
  await Promise.all(callers.map(caller => caller.answers(1, PATIENCE_MS)))
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  upstream.script(() => released.then(() => ({})))
  const before = upstream.journal.length

  limitDescriptors(lowestFree())
  for (const caller of callers) caller.send(chatOf(secret))
  const refused = () => callers.filter(({ received }) => received.includes('service_unavailable')).length
  await until('each is in flight or refused', () => refused() + upstream.journal.length - before === callers.length)
  const refusedCount = refused()
  limitDescriptors(DESCRIPTORS)
  release()
  const answers = await Promise.all(callers.map(async caller => (await caller.answers(2, PATIENCE_MS))[1]))
  for (const caller of callers) caller.send(chatOf(secret))
  const later = await Promise.all(callers.map(async caller => (await caller.answers(3, PATIENCE_MS))[2]?.status))
  for (const caller of callers) caller[Symbol.dispose]()

  assert.ok(refusedCount > 0, 'none was refused')
  for (const answer of answers) {
    assert.ok(answer !== undefined)
    if (answer.status !== 200) assertRefusal(seen(answer), 'service_unavailable')
  }
  assert.deepEqual(later, Array(callers.length).fill(200))
  await assertNobodyBlamed()
})

test('abandoned chats do not exhaust descriptors', async () => {
  const secret = await newKey()
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  upstream.script(() => released.then(() => ({})))
  // Two hundred chats that are read to their end without their callers; each key may have 100.
  for (const leaving of [await newKey(), await newKey()].flatMap(key => [chatOf(key), chatOf(key)])) {
    const callers = await Promise.all(Array.from({ length: 50 }, () => openRaw(gateway.port)))
    const before = upstream.journal.length
    for (const caller of callers) caller.send(leaving)
    await until('all are in flight or refused', () => {
      const refused = callers.filter(({ received, closedBy }) => received.length > 0 || closedBy !== 'open').length
      return upstream.journal.length - before + refused >= callers.length
    })
    for (const caller of callers) caller.reset()
  }

  const open = readdirSync(`/proc/${gateway.pid}/fd`).length
  using connection = await openRaw(gateway.port)
  connection.send(chatOf(secret))
  const [refused] = await connection.answers(1, PATIENCE_MS)
  const models = await gateway.get('/v1/models', secret)
  release()
  await until('a chat is served', async () => (await gateway.chat({}, { key: secret })).status === 200)

  assert.ok(open < DESCRIPTORS - 40, `${open} descriptors`)
  assert.ok(refused !== undefined)
  assertRefusal(seen(refused), 'service_unavailable')
  assert.equal(models.status, 200)
  await assertNobodyBlamed()
})

// Every descriptor from this number on is refused with EMFILE.
function limitDescriptors(count: number): void {
  execFileSync('prlimit', [`--pid=${gateway.pid}`, `--nofile=${count}:`])
}

function lowestFree(): number {
  const open = new Set(readdirSync(`/proc/${gateway.pid}/fd`).map(Number))
  let free = 0
  while (open.has(free)) free++
  return free
}
