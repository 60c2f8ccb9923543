// After a busy run with every kind of failure, secrets, prompts and answers do not appear in the log, the metrics, an
// error or the store's files. Each log line is one JSON object.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { ANSWER, exerciseFailures, PROMPT, PROVIDER_WORDS, UNKNOWN_KEY, USER } from '../support/canaries.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { PROVIDER_KEY_CANARY, standardConfig } from '../support/standard-config.ts'
import { startUpstream } from '../support/upstream.ts'

const METRICS_TOKEN = 'metrics-token-canary-91c2'
const TEXTS = [PROMPT, ANSWER, USER]

test('no canary leaks in a busy run', async t => {
  await using upstream = await startUpstream()
  const env = {
    TURNPIKE_LOG_LEVEL: 'info',
    TURNPIKE_METRICS_TOKEN: METRICS_TOKEN,
    TURNPIKE_FAILPOINTS: 'before_settle=throw*2',
  }
  await using gateway = await startGateway({ config: standardConfig(upstream.url), env })
  const { id, secret: old } = await gateway.createKey({ rpm_limit: 10_000 })
  const current = String((await gateway.admin('POST', `/keys/${id}/rotate`)).body.secret)

  const said = await exerciseFailures(gateway, upstream, [current, old])
  const { text: metrics } = await gateway.get('/metrics')
  await gateway.stop({ hurry: true })

  const secrets = [old, current, UNKNOWN_KEY, PROVIDER_KEY_CANARY, gateway.adminToken, METRICS_TOKEN]
  const hashes = secrets.map(secret => createHash('sha256').update(secret).digest('hex'))
  const errors = said.filter(answer => answer.status >= 400)

  await t.test('the log has every request and no canary', () => {
    assert.ok(gateway.logs.filter(line => String(line.msg) === 'request').length > 30)
    const log = gateway.lines.join('\n')
    assertNone('the log', log, [...secrets, ...hashes, ...TEXTS, PROVIDER_WORDS, upstream.url, 'forged'])
  })

  await t.test('each line of the log is one JSON object', () => {
    for (const line of gateway.lines) assert.equal(JSON.parse(line)?.constructor, Object, line)
  })

  // Gauges of balances have the ids of accounts.
  await t.test('the metrics hold no canary and no text of a caller', () => {
    assert.match(metrics, /turnpike_requests_total/)
    assertNone('the metrics', metrics, [...secrets, ...hashes, ...TEXTS, PROVIDER_WORDS, 'test/m1', 'nasty', id])
  })

  await t.test('no error holds a canary, a stack, SQL or an upstream address', () => {
    const statuses = new Set(errors.map(error => error.status))
    assert.deepEqual(
      [400, 401, 402, 403, 404, 415, 500, 502, 503].filter(status => !statuses.has(status)),
      [],
    )
    for (const { text } of errors) {
      assertNone('an error', text, [
        ...secrets,
        ...hashes,
        ANSWER,
        PROVIDER_WORDS,
        upstream.url,
        `127.0.0.1:${upstream.port}`,
      ])
      assert.doesNotMatch(text, /\.ts:\d|node_modules|SELECT |SQLITE/)
    }
  })

  await t.test('the store holds no canary, and the hash of a key only in its own table', () => {
    for (const name of ['turnpike.db', 'turnpike.db-wal', 'turnpike.lock']) {
      const file = join(gateway.dataDir, name)
      if (existsSync(file)) assertNone(name, readFileSync(file, 'latin1'), [...secrets, ...TEXTS])
    }
    assertNone('the tables', tablesBut('secret', gateway), hashes.slice(0, 2))
  })

  assert.ok((await gateway.audit()).ok)
})

function assertNone(where: string, text: string, canaries: readonly string[]): void {
  for (const canary of canaries) {
    const at = text.indexOf(canary)
    assert.ok(at < 0, `${where} holds ${canary}: …${text.slice(Math.max(0, at - 200), at + 100)}…`)
  }
}

function tablesBut(hidden: string, gateway: Gateway): string {
  const db = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { readOnly: true })
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all() as { name: string }[]
  const dump = tables.filter(({ name }) => name !== hidden).map(({ name }) => db.prepare(`SELECT * FROM ${name}`).all())
  db.close()
  return JSON.stringify(dump)
}
