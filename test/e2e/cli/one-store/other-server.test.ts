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
const server = createServer((request, response) => {
  request.resume()
  response.end(answer)
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
    [JSON.stringify({ changes: [], at_next_start: [HOSTILE] }), 'apply'],
    [event({ error: { message: HOSTILE } }), 'chat', 'm', '--message', 'x'],
    [JSON.stringify({ data: HOSTILE }), 'keys', 'list'],
  ] as const) {
    answer = text
    results.push(await run(...args))
  }

  for (const { stdout, stderr } of results) assert.doesNotMatch(stdout + stderr, /[^\P{Cc}\n\t]/u)
  for (const { stdout, stderr } of results.slice(0, 3)) assert.match(stdout + stderr, /\\u001b\]0;title/)
})
