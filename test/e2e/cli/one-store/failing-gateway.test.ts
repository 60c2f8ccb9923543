// Commands of several calls at a gateway that fails in between: what was done is known, and what to do next is safe.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { temporaryFolder } from '../../../support/folder.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { createServer } from '../../../support/node-http.ts'

const ACCOUNT = { object: 'account', id: 'acct_1', name: 'acme', balance: {} }

test('a lost response to the key of a new account does not lead to a second key', async () => {
  const lost = await run(['accounts', 'create', 'acme', '--key', "dana's laptop"], {
    'POST /admin/v1/accounts': json(201, ACCOUNT),
    'POST /admin/v1/keys': response => response.socket?.destroy(),
  })
  const cut = await run(['accounts', 'create', 'acme', '--key', 'prod'], {
    'POST /admin/v1/accounts': json(201, ACCOUNT),
    'POST /admin/v1/keys': response => {
      response.writeHead(201, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"id":', () => response.socket?.destroy())
    },
  })

  for (const { code, stderr } of [lost, cut]) {
    assert.equal(code, 1)
    assert.match(stderr, /if "turnpike keys list --account acct_1" shows one, revoke it; then go on with: /)
  }
  assert.match(lost.stderr, /turnpike keys create 'dana'\\''s laptop' --account acct_1\n$/)
})

test('a refused key of a new account can be created with the printed command', async () => {
  const refused = await run(['accounts', 'create', 'acme', '--key', 'my key'], {
    'POST /admin/v1/accounts': json(201, ACCOUNT),
    'POST /admin/v1/keys': json(409, { error: { code: 'conflict', message: 'too many keys' } }),
  })

  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /has no key yet; go on with: turnpike keys create 'my key' --account acct_1\n$/)
})

test('doctor blames the token only for what the token causes', async () => {
  const healthy = { '/health': json(200, { status: 'ok' }), '/ready': json(200, { status: 'ready' }) }
  const broken = json(500, { error: { code: 'internal_error', message: 'unexpected error' } })
  const operator = json(200, { object: 'operator', name: 'dana', role: 'admin' })

  const store = await doctor({ ...healthy, '/admin/v1/operator': operator, '/admin/v1/settings': broken })
  const all = await doctor({ ...healthy, '/admin/v1/operator': broken })
  const token = await doctor({
    ...healthy,
    '/admin/v1/operator': json(401, { error: { code: 'invalid_api_key', message: 'no' } }),
  })

  assert.deepEqual([store('token')?.state, store('store')?.state, store('providers')?.state], ['ok', 'fail', 'fail'])
  assert.match(store('store')?.detail ?? '', /^cannot be checked: unexpected error$/)
  assert.equal(all('token')?.fix, 'see the gateway’s log')
  assert.match(token('token')?.fix ?? '', /turnpike login/)
})

test('a token with other characters is refused as such', async () => {
  const { code, stderr } = await run(['keys', 'list', '--token-stdin'], {}, 'two words\n')
  const empty = await run(['keys', 'list', '--token-stdin'], {}, '\n')

  assert.deepEqual([code, empty.code], [2, 2])
  assert.match(stderr, /an admin token has at most 1024 characters/)
  assert.match(empty.stderr, /no admin token on stdin/)
})

test('a response without an end is not kept in memory', async () => {
  const endless: Answer = response => {
    const chunk = Buffer.alloc(1024 * 1024, ' ')
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.writeHead(200, { 'content-type': 'application/json' }).on('drain', write)
    write()
  }
  const [key, token] = [
    await run(['quote', 'm', '--message', 'Hello'], { '/v1/chat/completions/quote': endless }),
    await run(['settings'], { '/admin/v1/settings': endless }),
  ]

  for (const { code, stderr } of [key, token]) {
    assert.equal(code, 1)
    assert.match(stderr, /is larger than 67108864 bytes/)
  }
})

type Answer = (response: ServerResponse) => void
type Answers = Readonly<Record<string, Answer>>
type Finding = { readonly check: string; readonly state: string; readonly detail: string; readonly fix?: string }

function json(status: number, body: object): Answer {
  return response => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

async function doctor(answers: Answers): Promise<(check: string) => Finding | undefined> {
  const { stdout } = await run(['doctor', '--json'], answers)
  const { checks } = JSON.parse(stdout) as { checks: readonly Finding[] }
  return check => checks.find(each => each.check === check)
}

// The command at a server with these answers, by path or by method and path. All others are 404.
async function run(args: readonly string[], answers: Answers, stdin?: string) {
  await using folder = await temporaryFolder()
  const missing = json(404, { error: { code: 'not_found', message: 'not found' } })
  const server = createServer((request, response) => {
    const path = request.url?.split('?')[0] ?? ''
    const answer = answers[path] ?? answers[`${request.method} ${path}`] ?? missing
    request.resume().once('end', () => answer(response))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = {
      TURNPIKE_URL: url,
      TURNPIKE_ADMIN_TOKEN: 'tpk_any',
      TURNPIKE_API_KEY: 'any',
      XDG_CONFIG_HOME: folder.path,
    }
    return await runProcess(args, folder.path, env, stdin)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}
