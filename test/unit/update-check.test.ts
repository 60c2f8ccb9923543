// The check for a newer version: one bounded GET a day, and only a release that is newer counts, whatever the URL answers.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { updateCheck } from '../../src/admin/update-check.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { connectionLimit } from '../../src/upstream/connection-limit.ts'
import { type GetNeeds, getText } from '../../src/upstream/get-text.ts'
import { createServer } from '../support/node-http.ts'
import { until } from '../support/until.ts'

const DAY_MS = 86_400_000
const BYTES_MAX = 4096

type Answer = (response: ServerResponse) => void

const says =
  (text: string): Answer =>
  response =>
    void response.end(text)

for (const [answer, found] of [
  ['{"latest":"1.2.4"}', '1.2.4'],
  ['{"version":"1.10.0","name":"turnpike"}', '1.10.0'],
  ['{"latest":"2.0.0"}', '2.0.0'],
  ['{"latest":"1.2.3"}', null],
  ['{"latest":"1.2.2"}', null],
  ['{"latest":"0.99.99"}', null],
] as const) {
  test(`to version 1.2.3, ${answer} means ${found ?? 'no update'}`, async () => {
    await using fixture = await openFixture(says(answer))

    assert.equal(await fixture.settled(), found)

    assert.deepEqual(fixture.errors, [])
  })
}

for (const [what, answer, reason] of [
  ['no JSON', says('<html>'), /JSON/],
  ['null', says('null'), /no version/],
  ['a list', says('["9.9.9"]'), /no version/],
  ['a number', says('{"latest":9}'), /no version/],
  ['a prerelease', says('{"latest":"9.0.0-rc.1"}'), /no version/],
  ['a version with a v', says('{"latest":"v9.0.0"}'), /no version/],
  ['two numbers', says('{"latest":"9.0"}'), /no version/],
  ['a number with zeros in front', says('{"latest":"09.0.0"}'), /no version/],
  ['a number that is too long', says(`{"latest":"${'9'.repeat(40)}.0.0"}`), /no version/],
  ['markup', says('{"latest":"9.0.0<script>"}'), /no version/],
  ['more than the bound', says(`{"latest":"9.0.0","x":"${'x'.repeat(BYTES_MAX)}"}`), /larger than 4096/],
  ['an answer without an end', endless, /larger than 4096/],
  ['a redirect', redirect, /status 302/],
  ['an error', broken, /status 500/],
  ['a reset', (response: ServerResponse) => void response.socket?.destroy(), /closed|reset|connection/i],
  ['nothing, ever', () => undefined, /within 300 ms|timeout/],
] as const) {
  test(`${what} is no update, and is only logged`, async () => {
    await using fixture = await openFixture(answer)

    assert.equal(await fixture.settled(), null)

    assert.equal(fixture.errors.length, 1)
    assert.match(String(fixture.errors[0]), reason)
  })
}

test('the URL is read once a day, however often the answer is asked for', async () => {
  let version = '2.0.0'
  await using fixture = await openFixture(response => void response.end(JSON.stringify({ latest: version })))
  assert.deepEqual(await Promise.all([fixture.check(), fixture.check()]), [null, null])
  await fixture.settled()
  version = '3.0.0'

  fixture.pass(DAY_MS - 1)
  assert.equal(await fixture.check(), '2.0.0')
  assert.equal(fixture.asked.length, 1)
  fixture.pass(1)
  assert.equal(await fixture.check(), '2.0.0')
  await until('the next day it is read again', async () => (await fixture.check()) === '3.0.0')

  assert.equal(fixture.asked.length, 2)
  assert.match(fixture.asked[0] ?? '', /^GET \/latest\?of=turnpike$/)
})

test('a failure is not repeated before the next day, and keeps the last answer for one day', async () => {
  let answer: Answer = says('{"latest":"2.0.0"}')
  await using fixture = await openFixture(response => answer(response))
  assert.equal(await fixture.settled(), '2.0.0')
  answer = broken

  fixture.pass(DAY_MS)
  await fixture.check()
  await until('it has failed', () => fixture.errors.length === 1)
  for (let i = 0; i < 5; i++) assert.equal(await fixture.check(), '2.0.0')
  fixture.pass(DAY_MS + 1)

  assert.equal(await fixture.check(), null)
  await until('it was tried again', () => fixture.asked.length === 3)
})

const NEEDS: GetNeeds = {
  requestId: 'r',
  headers: { 'user-agent': 'turnpike/1.2.3' },
  timeoutMs: 300,
  bytesMax: BYTES_MAX,
  network: { fastPath: true, proxies: { http: undefined, https: undefined, exempt: [] } },
  limit: connectionLimit(10),
  clock: systemClock,
  onBug: error => assert.fail(String(error)),
}

async function openFixture(answer: Answer) {
  const asked: string[] = []
  const errors: unknown[] = []
  let now = 0
  let reads = 0
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answer(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const check = updateCheck({
    read: async () => {
      try {
        return await getText(`http://127.0.0.1:${port}/latest?of=turnpike`, NEEDS)
      } finally {
        reads += 1
      }
    },
    current: '1.2.3',
    everyMs: DAY_MS,
    clock: { monotonic: () => now },
    onError: error => errors.push(error),
  })
  return {
    asked,
    errors,
    check,
    pass: (ms: number) => {
      now += ms
    },
    // Once the answer has been read, or has failed.
    async settled() {
      await check()
      await until('it is read', () => reads > 0)
      return check()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

function endless(response: ServerResponse): void {
  const timer = setInterval(() => response.write('x'.repeat(1024)), 5)
  response.once('close', () => clearInterval(timer))
}

function redirect(response: ServerResponse): void {
  response.writeHead(302, { location: '/elsewhere' }).end()
}

function broken(response: ServerResponse): void {
  response.writeHead(500).end('{"latest":"9.9.9"}')
}
