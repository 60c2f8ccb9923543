// What an operator sees of requests from outside: metrics, log and billing report the same numbers.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { openFixture } from '../../support/fixture.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { freePort } from '../../support/free-port.ts'
import { httpCall, type Loose } from '../../support/http-call.ts'
import { rawRequest } from '../../support/raw-http.ts'
import { until } from '../../support/until.ts'
import { settledRow, type UsageRow } from '../../support/usage.ts'

const COMMAND = join(import.meta.dirname, '../../../bin/turnpike.js')
const { gateway, upstream } = await openFixture()
// An answer, a stream and a failure, in this order.
const ids: string[] = []
let rows: readonly UsageRow[] = []

before(async () => {
  const { secret: key } = await gateway.createKey()
  const headers = { 'x-client-request-id': 'mine' }
  upstream.next({ promptTokens: 11, words: ['Hello', ' there'] })
  ids.push(String((await gateway.chat({}, { key, headers })).headers['x-request-id']))
  upstream.next({ promptTokens: 7, words: ['One', ' two', ' three'] })
  ids.push(String((await gateway.chat({ stream: true }, { key })).headers['x-request-id']))
  upstream.next({ status: 401 })
  ids.push(String((await gateway.chat({}, { key })).headers['x-request-id']))
  await rawRequest(gateway.port, 'garbage\r\n\r\n')
  rows = await Promise.all(ids.map(id => settledRow(gateway, id)))
  await until('every request has its line', () => ids.every(id => lineOf(id) !== undefined))
})

test('metrics match the requests', async () => {
  const { text } = await gateway.get('/metrics')
  const seen = seriesOf(text)
  const spent = rows.reduce((sum, row) => sum + Number(row.cost), 0)

  assert.deepEqual(only(seen, 'turnpike_requests_total'), {
    'turnpike_requests_total{endpoint="chat.completions",status="200",outcome="completed"}': 2,
    'turnpike_requests_total{endpoint="chat.completions",status="502",outcome="upstream_failed"}': 1,
  })
  assert.deepEqual(only(seen, 'turnpike_tokens_total'), {
    'turnpike_tokens_total{kind="prompt"}': 18,
    'turnpike_tokens_total{kind="completion"}': 5,
    'turnpike_tokens_total{kind="cached"}': 0,
    'turnpike_tokens_total{kind="reasoning"}': 0,
  })
  // 18 × 0.0000025 + 5 × 0.00001
  assert.equal(spent.toFixed(9), '0.000095000')
  assert.equal(seen.get('turnpike_credits_total')?.toFixed(9), '0.000095000')
  assert.deepEqual(only(seen, 'turnpike_key_cache_total'), {
    'turnpike_key_cache_total{result="hit"}': 2,
    'turnpike_key_cache_total{result="miss"}': 1,
  })
  assert.deepEqual(only(seen, 'turnpike_upstream_errors_total'), {
    'turnpike_upstream_errors_total{kind="credential"}': 1,
  })
  assert.deepEqual(only(seen, 'turnpike_rejected_http_total'), {
    'turnpike_rejected_http_total{code="malformed_request"}': 1,
  })
  assert.equal(seen.get('turnpike_request_duration_seconds_count{endpoint="chat.completions"}'), 3)
  assert.equal(seen.get('turnpike_first_byte_seconds_count'), 2)
  for (const name of ['turnpike_requests_in_flight', 'turnpike_streams_in_flight', 'turnpike_body_bytes'])
    assert.equal(seen.get(name), 0, name)
  for (const name of ['turnpike_commit_batch_size_count', 'turnpike_commit_seconds_count'])
    assert.ok((seen.get(name) ?? 0) > 0, name)
})

const ALWAYS = ['level', 'time', 'id', 'endpoint', 'status', 'outcome', 'key', 'model', 'stream']
const BILLED = ['prompt_tokens', 'completion_tokens', 'cost']
const LAST = ['ms', 'ip', 'msg']
const KEYS: Readonly<Record<string, readonly string[]>> = {
  'an answer': [...ALWAYS, ...BILLED, 'provider', 'client_id', 'first_byte_ms', ...LAST],
  'a stream': [...ALWAYS, ...BILLED, 'provider', 'first_byte_ms', ...LAST],
  'a failure': [...ALWAYS, ...BILLED, 'code', ...LAST],
}

test('the log line of a request has the documented fields only, and the cost of its row', async t => {
  for (const [index, [what, keys]] of Object.entries(KEYS).entries()) {
    await t.test(what, () => {
      const line = lineOf(ids[index] ?? '')
      const row = rows[index]

      assert.deepEqual(Object.keys(line ?? {}).sort(), [...keys].sort())
      assert.deepEqual(
        [line?.status, line?.outcome, line?.provider ?? null, line?.prompt_tokens, line?.completion_tokens, line?.cost],
        [row?.http_status, row?.outcome, row?.provider, row?.prompt_tokens, row?.completion_tokens, row?.cost],
      )
      assert.deepEqual([line?.level, line?.msg, line?.ip], ['info', 'request', '127.0.0.1'])
    })
  }
})

test('on a terminal log lines are human-readable', { skip: process.platform !== 'linux' }, async () => {
  await using folder = await temporaryFolder()
  const port = await freePort()
  await using terminal = await atTerminal(folder.path, port)

  await until('it listens', () => terminal.screen().includes('listening'))
  const [key = ''] = /svc_live_[0-9A-Za-z]{43}/.exec(terminal.screen()) ?? []
  const { status } = await httpCall(`http://127.0.0.1:${port}/v1/models`, {
    headers: { authorization: `Bearer ${key}` },
  })

  assert.equal(status, 200)
  const line =
    /^\d\d:\d\d:\d\d\.\d{3} info {2}request id=[0-9a-f-]{36} endpoint=models status=200 outcome=completed .*ms=/m
  await until('the request is on the screen', () => line.test(terminal.screen()))
  assert.doesNotMatch(terminal.screen(), /^\{/m)
})

function lineOf(id: string): Loose | undefined {
  return gateway.logs.find(line => String(line.id) === id && String(line.msg) === 'request')
}

function seriesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  return new Map(lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]))
}

function only(seen: ReadonlyMap<string, number>, name: string): Readonly<Record<string, number>> {
  return Object.fromEntries([...seen].filter(([series]) => series.startsWith(`${name}{`)))
}

// A gateway started by a person and stopped with Ctrl-C. It would outlive `script`, so it is stopped separately.
async function atTerminal(cwd: string, port: number) {
  const command = `timeout --foreground -s KILL 60 '${process.execPath}' '${COMMAND}' serve`
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, TERM: 'xterm', TURNPIKE_PORT: String(port) }
  const child = spawn('script', ['-qec', command, '/dev/null'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] })
  const exited = once(child, 'close')
  let shown = ''
  child.stdout.on('data', piece => {
    shown += String(piece)
  })
  return {
    screen: () => stripVTControlCharacters(shown).replaceAll('\r', ''),
    async [Symbol.asyncDispose]() {
      child.stdin.write('\x03')
      await exited
    },
  }
}
