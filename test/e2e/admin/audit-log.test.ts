// The log as a journal: each request's line has the cost reported to its caller, and `turnpike audit --log` compares
// the lines with the rows.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { cli } from '../../support/cli.ts'
import { openFixture } from '../../support/fixture.ts'
import { until } from '../../support/until.ts'

const { gateway, upstream } = await openFixture()
const { secret } = await gateway.createKey()
const file = (name: string) => join(dirname(gateway.configFile), name)

// By request id: what the callers of one request of each kind received.
const told = new Map<string, string>()

test('every request has one log line with the cost reported to its caller', async () => {
  const json = await gateway.chat({}, { key: secret })
  const stream = await gateway.openChat({}, { key: secret })
  await stream.rest()
  upstream.next({ status: 500 })
  const failed = await gateway.chat({ model: 'test/m1' }, { key: secret })
  const refused = await gateway.chat({ messages: [] }, { key: secret })
  const models = await gateway.get('/v1/models', secret)
  const unknown = await gateway.get('/v1/models', 'svc_live_nobody')
  for (const { headers } of [json, failed, refused, models, unknown])
    told.set(String(headers['x-request-id']), String(headers['x-svc-cost']))
  told.set(String(stream.headers['x-request-id']), String(stream.trailers['x-svc-cost']))

  await until('every line is written', () => lines().length >= told.size)

  assert.equal(told.size, 6)
  for (const [id, cost] of told)
    assert.deepEqual(
      [
        id,
        lines()
          .filter(line => line.id === id)
          .map(line => line.cost),
      ],
      [id, [cost]],
    )
  assert.ok(Number(json.headers['x-svc-cost']) > 0 && Number(stream.trailers['x-svc-cost']) > 0)
})

test('a log that matches the rows passes, as text, compressed and from standard input', async () => {
  const journal = `${gateway.lines.join('\n')}\n`
  await writeFile(file('turnpike.log'), journal)
  await writeFile(file('turnpike.log.1.gz'), gzipSync(journal))

  const both = await cli(gateway, [
    'audit',
    '--json',
    '--log',
    file('turnpike.log'),
    '--log',
    file('turnpike.log.1.gz'),
  ])
  const piped = await cli(gateway, ['audit', '--json', '--log', '-'], { stdin: journal })

  assert.equal(both.code, 0, both.stdout + both.stderr)
  assert.equal(logOf(both).compared, told.size * 2)
  assert.equal(piped.code, 0, piped.stdout + piped.stderr)
  assert.equal(logOf(piped).compared, told.size)
})

test('a line whose cost differs from its row, or whose row is missing, is reported', async () => {
  const paid = lines().find(line => Number(line.cost) > 0)
  const free = lines().find(line => line.endpoint === 'models' && line.status === 200)
  const pricier = JSON.stringify({ ...paid, cost: '5' })
  const gone = JSON.stringify({ ...free, id: String(free?.id).replace(/.{12}$/, '000000000000') })
  const refused = JSON.stringify({ ...free, id: '019a0000-0000-7000-8000-000000000000', outcome: 'refused' })
  await writeFile(file('wrong.log'), [pricier, gone, refused].join('\n'))

  const { code, stdout, json } = await cli(gateway, ['audit', '--json', '--log', file('wrong.log')])

  assert.equal(code, 1, stdout)
  assert.equal(json.ok, false)
  const { compared, disagreeing, examples } = logOf({ json })
  assert.deepEqual([compared, disagreeing], [3, 2])
  assert.deepEqual(examples, [
    `${paid?.id}: logged 5, row has ${paid?.cost}`,
    `${JSON.parse(gone).id}: logged 0, row missing`,
  ])
})

test('unreadable lines of any length are counted and skipped; lines that are not about requests are ignored', async () => {
  const junk = [
    '{"level":"info"',
    'Turnpike listens',
    'x'.repeat(3_000_000),
    '{"msg":"request","id":"a","cost":"much"}',
  ]
  const other = [
    '',
    '{"level":"info","msg":"listening"}',
    `2026-01-01T00:00:00Z stdout F ${JSON.stringify(lines()[0])}`,
  ]
  await writeFile(file('junk.log'), [...junk, ...other].join('\r\n'))

  const { code, stdout } = await cli(gateway, ['audit', '--log', file('junk.log')])

  assert.equal(code, 0, stdout)
  assert.match(stdout, /logged costs match the usage rows \(1 compared of \d+ lines, 4 unreadable\)/)
})

test('a log without any request fails', async () => {
  await writeFile(file('other.log'), '{"level":"info","msg":"listening"}\nnot a log\n')

  const { code, stdout } = await cli(gateway, ['audit', '--log', file('other.log')])

  assert.equal(code, 1)
  assert.match(stdout, /ok +I1 /)
  assert.match(stdout, /BROKEN +log .*\(no requests found, 0 compared of 2 lines, 1 unreadable\)/)
})

test('a missing file or a file that is not a log is a usage error', async () => {
  await writeFile(file('cut.gz'), gzipSync('x'.repeat(100_000)).subarray(0, 60))
  const wrong: readonly (readonly string[])[] = [
    [file('none.log')],

    [dirname(file('x'))],
    [file('cut.gz')],
    ['-', '-'],
  ]

  for (const files of wrong) {
    const { code, stderr } = await cli(gateway, ['audit', ...files.flatMap(name => ['--log', name])], { stdin: '' })
    assert.equal(code, 2, stderr)
    assert.match(stderr, /--log/)
    assert.doesNotMatch(stderr, /\n\s+at /)
  }
})

type Line = { readonly [name in 'msg' | 'id' | 'cost' | 'endpoint' | 'status']?: unknown }

function lines() {
  return (gateway.logs as readonly Line[]).filter(line => line.msg === 'request' && told.has(String(line.id)))
}

function logOf({ json }: { readonly json: unknown }) {
  return (json as { log: { compared: number; disagreeing: number; examples: string[] } }).log
}
