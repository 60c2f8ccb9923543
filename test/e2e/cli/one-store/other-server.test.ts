// The command line and a server that is not a gateway, or a hostile one: nothing of its answers controls the terminal, and none is
// taken for a result.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import type { Gateway } from '../../../support/gateway.ts'

const HOSTILE = '\u001b]0;title\u0007\u009b31m'
let answer = ''
// Status 0: never an answer.
let head: { status?: number; type?: string } = {}
const server = createServer((request, response) => {
  request.resume()
  if (head.status === 0) return
  response.writeHead(head.status ?? 200, { 'content-type': head.type ?? 'application/json' }).end(answer)
}).listen(0, '127.0.0.1')
await once(server, 'listening')
after(() => server.close())

const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
const nowhere = {
  url,
  adminToken: 'x'.repeat(32),
  configFile: '/tmp/turnpike.yaml',
  storeEnv: {},
} as unknown as Gateway
const run = (...args: string[]) => cli(nowhere, args, { env: { TURNPIKE_API_KEY: 'svc_live_x' } })
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`

test('a chat whose answer is not a complete stream fails', async () => {
  const words = event({ choices: [{ delta: { content: 'Hello' } }] })
  const results = []
  for (const text of ['<html>Sign in</html>', '', words, `data: ${HOSTILE}\n\n`, `${words}data: [DONE]\n\n`]) {
    answer = text
    results.push(await run('chat', 'm', '--message', 'x'))
  }

  assert.deepEqual(
    results.map(({ code }) => code),
    [1, 1, 1, 1, 0],
  )
  for (const { stderr } of results.slice(0, 3))
    assert.match(stderr, /^turnpike: the response of \S+ is not complete\n$/)
  assert.match(results[3]?.stderr ?? '', /^turnpike: \S+ does not look like Turnpike \(not JSON\)\n$/)
})

test('links, messages and traces of a hostile server are shown with escapes', async () => {
  const results = []
  for (const [text, ...args] of [
    [JSON.stringify({ url: HOSTILE, expires_at: HOSTILE }), 'portal-link', `acct_${'0'.repeat(32)}`],
    [JSON.stringify({ object: 'catalog_apply', changes: [], at_next_start: [HOSTILE] }), 'apply'],
    [event({ error: { message: HOSTILE } }), 'chat', 'm', '--message', 'x'],
    [JSON.stringify({ data: HOSTILE }), 'keys', 'list'],
  ] as const) {
    answer = text
    results.push(await run(...args))
  }

  for (const { stdout, stderr } of results) assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n\t]/u)
  for (const { stdout, stderr } of results.slice(0, 3)) assert.match(stdout + stderr, /\\u001b\]0;title/)
})

const LIST = (...data: unknown[]) => JSON.stringify({ object: 'list', data, has_more: true })
const KEY = `key_${'0'.repeat(32)}`
const SHAPES: readonly (readonly [string, string, typeof head])[] = [
  ['HTML', '<!doctype html>', { type: 'text/html' }],
  ['nothing', '', {}],
  ['another object', '{"status":"ok"}', {}],
  ['an array', '[]', {}],
  ['rows that are no objects', LIST(null, 1, 'x'), {}],
  ['objects without fields', LIST({}), {}],
  ['too many members', `{"object":"list","data":[${'{},'.repeat(1_000_001)}{}]}`, {}],
  ['too many levels', `{"object":"list","data":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, {}],
  ['a text as error', '{"error":"bad request"}', { status: 400 }],
  ['an error without a code', '{"message":"Unauthorized"}', { status: 401 }],
  ['another 404', '{"error":"Not found"}', { status: 404 }],
  ['no error in its place', '{"error":null}', { status: 500 }],
  ['an error in another shape', '{"error":{"message":{"a":1},"param":5}}', { status: 403 }],
  ['an empty success', '', { status: 204 }],
]

for (const [name, text, headers] of SHAPES) {
  test(`a server that answers with ${name}: one sentence, and no success`, async () => {
    answer = text
    head = headers

    const results = []
    for (const words of ['status', 'sessions list', `keys revoke ${KEY} --yes`, 'quote m --message x', 'doctor'])
      if (name !== 'objects without fields' || !words.startsWith('keys')) results.push(await run(...words.split(' ')))
    head = {}

    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 1, stdout + stderr)
      assert.doesNotMatch(stdout + stderr, /\n +at |TypeError|RangeError|\[object/)
    }
    for (const { stdout, stderr } of results.slice(0, -1)) {
      assert.match(stdout + stderr, /^turnpike: [^\n]{1,200}\n$/)
      if ((headers.status ?? 0) >= 400) assert.match(stderr, /does not look like Turnpike \(status \d+\)/)
    }
  })
}

test('an export writes no other page into its file', async () => {
  answer = '<html>Sign in</html>'
  head = { type: 'text/html; charset=utf-8' }

  const { code, stdout, stderr } = await run('usage', 'export')
  head = {}

  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /does not look like Turnpike/)
})

test('an export from a server that repeats a page ends', async () => {
  answer = LIST({ request_id: '019a91b2-6c1e-7d33-8f00-3a5be0c4d2f1' })

  const { code, stderr } = await run('usage', 'export', '--json')

  assert.equal(code, 1)
  assert.match(stderr, /repeats a page/)
})

test('doctor waits 5 seconds for a server that never answers', async () => {
  head = { status: 0 }
  const began = performance.now()

  const { code, stdout } = await run('doctor')
  head = {}

  assert.equal(code, 1)
  assert.match(stdout, /fail +gateway +\S+ .* did not respond in time/)
  assert.ok(performance.now() - began < 20_000)
})
