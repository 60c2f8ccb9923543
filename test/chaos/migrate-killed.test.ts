// A migration to Postgres that is killed at random moments and repeated until it completes: the result is the same as
// without interruptions, and no gateway starts on a partial copy.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { auditPostgres } from '../../src/store/audit/postgres.ts'
import { standardConfig, startGateway } from '../support/gateway.ts'
import { freshSchema, hasPostgres } from '../support/postgres.ts'
import { assertSameRows, multiplyRows } from '../support/transfer.ts'
import { startUpstream } from '../support/upstream.ts'

const ROWS = 15_000
const KILLS_MAX = 12
// The time a run needs before its first write, and the approximate duration of an uninterrupted run.
const STARTS_AFTER_MS = 250
const TAKES_MS = 2500

if (hasPostgres()) {
  test(`a migration killed up to ${KILLS_MAX} times ends as if it had not been interrupted`, async t => {
    const seed = Number(process.env.TURNPIKE_TEST_SEED ?? Date.now() % 1_000_000)
    t.diagnostic(`seed ${seed}`)
    const random = chance(seed)
    await using upstream = await startUpstream()
    await using schema = await freshSchema()
    await using gateway = await startGateway({ config: standardConfig(upstream.url) })
    const key = await gateway.createKey({ credits: '1000' })
    await gateway.chat({}, { key: key.secret })
    upstream.next({ chunkDelayMs: 50, words: Array.from({ length: 200 }, () => ' word') })
    const stream = await gateway.openChat({}, { key: key.secret })
    await stream.nextChunk()
    // One row is left open, with its hold.
    await gateway.kill()
    multiplyRows(gateway.dataDir, ROWS)

    let kills = 0
    while (kills < KILLS_MAX && (await isKilled(gateway.dataDir, schema.url, STARTS_AFTER_MS + random() * TAKES_MS)))
      kills++
    const ended = await run(gateway.dataDir, schema.url)

    t.diagnostic(`killed ${kills} times`)
    assert.equal(ended.code, 0, ended.said)
    assert.ok((await assertSameRows(gateway.dataDir, schema.url)) > ROWS)
    const report = await auditPostgres(schema.url, { idle: false, now: Date.now() })
    assert.ok(report.ok, JSON.stringify(report.findings))
  })
}

// Also if it ended before the kill; only an uninterrupted run ends the series.
async function isKilled(dataDir: string, url: string, afterMs: number): Promise<boolean> {
  const { child, ended } = begin(dataDir, url)
  const timer = new AbortController()
  void setTimeout(afterMs, undefined, { signal: timer.signal }).then(
    () => child.kill('SIGKILL'),
    () => undefined,
  )
  const { code, said } = await ended
  timer.abort()
  assert.ok(code === null || code === 0, said)
  return code === null
}

async function run(dataDir: string, url: string) {
  return begin(dataDir, url).ended
}

function begin(dataDir: string, url: string) {
  const entry = join(import.meta.dirname, '../../bin/turnpike.js')
  const child = spawn(process.execPath, [entry, 'migrate', '--from', `sqlite:${dataDir}`], {
    env: { PATH: process.env.PATH, DATABASE_URL: url },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', chunk => {
    said += String(chunk)
  })
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, said }))
  return { child, ended }
}

// Marsaglia's xorshift: the same moments for the same seed.
function chance(seed: number): () => number {
  let state = seed | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
