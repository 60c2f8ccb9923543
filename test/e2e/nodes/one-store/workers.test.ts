// Several processes on one port: they serve, count and drain as one, and a dead one is replaced.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createReadStream, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { ADMIN_TOKEN, ENCRYPTION_KEY, standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { startNodes } from '../../../support/nodes.ts'
import { freshSchema, hasPostgres } from '../../../support/postgres.ts'
import { standardModel } from '../../../support/standard-config.ts'
import { until } from '../../../support/until.ts'
import { startUpstream } from '../../../support/upstream.ts'

type NodeList = { readonly data: readonly { readonly name: string; readonly state: string }[] }

const WORKERS = { TURNPIKE_WORKERS: '3' }

test('workers on the embedded store are refused, naming both variables', async () => {
  await using gateway = await startGateway({ env: WORKERS, awaitReady: false })

  assert.equal(await gateway.exited, 2)
  assert.match(gateway.lines.join('\n'), /TURNPIKE_WORKERS.*DATABASE_URL/)
})

test('an error that keeps workers from starting is logged once, with exit code 2', async () => {
  const env = {
    ...WORKERS,
    DATABASE_URL: 'postgres://127.0.0.1:1/nowhere',
    TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
  }
  await using gateway = await startGateway({ env, awaitReady: false })

  assert.equal(await gateway.exited, 2)
  assert.equal(gateway.lines.filter(line => line.includes('cannot be opened')).length, 1, gateway.lines.join('\n'))
})

if (hasPostgres()) {
  test('three workers are one gateway', async t => {
    await using upstream = await startUpstream()
    const config = standardConfig(upstream.url, { drain_delay: 1 })
    await using nodes = await startNodes(1, { config, env: WORKERS })
    const gateway = nodes.all[0]!
    const key = await gateway.createKey({ credits: '100', rpm_limit: 100_000 })
    const chat = () => gateway.chat({}, { key: key.secret })
    const chats = async (count: number) => (await Promise.all(Array.from({ length: count }, chat))).map(statusOf)
    const counted = async () => {
      const { text } = await gateway.get('/metrics')
      const lines = text.split('\n').filter(line => /^turnpike_requests_total\{.*endpoint="chat/.test(line))
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    }
    const listening = () => gateway.logs.filter(line => String(line.msg) === 'listening')
    await until('all listen', () => listening().length === 3, 30_000)

    await t.test('each worker is a node, and the log warns that rpm buckets are not shared', async () => {
      const { data } = (await gateway.admin<NodeList>('GET', '/nodes')).body
      const names = data.map(({ name }) => name)
      assert.deepEqual(names.map(name => name.split('/').at(-1)).sort(), ['1', '2', '3'])
      assert.ok(gateway.logs.some(line => /REDIS_URL is not set/.test(String(line.msg))))
    })

    await t.test('one scrape has the metrics of all workers', async () => {
      const before = await counted()
      assert.deepEqual(new Set(await chats(60)), new Set([200]))

      for (let i = 0; i < 6; i++) assert.equal(await counted(), before + 60)
      const { text } = await gateway.get('/metrics')
      assert.equal(text.match(/^turnpike_requests_in_flight /gm)?.length, 1)
    })

    await t.test('SIGHUP applies the file in each worker', async () => {
      const models = [standardModel(), standardModel({ id: 'test/m2' })]
      await gateway.writeConfig(standardConfig(upstream.url, { drain_delay: 1, models }))
      const applied = () => gateway.logs.filter(line => String(line.msg) === 'configuration file applied').length

      gateway.signal('SIGHUP')
      await until('all have applied it', () => applied() === 3)

      const answers = await Promise.all(
        Array.from({ length: 9 }, () => gateway.chat({ model: 'test/m2' }, { key: key.secret })),
      )
      assert.deepEqual(new Set(answers.map(statusOf)), new Set([200]))
    })

    await t.test('a connection that a killed worker had not accepted is served by another', async () => {
      const before = listening().length
      const victim = Number(listening().at(-1)?.pid)
      process.kill(victim, 'SIGSTOP')
      // One of them is assigned to the paused worker.
      const answers = Array.from({ length: 6 }, () => httpCall(`${gateway.url}/health`, { timeoutMs: 20_000 }))
      const early = await Promise.race([Promise.all(answers).then(() => 'all'), sleep(1000, 'some')])
      process.kill(victim, 'SIGKILL')

      assert.equal(early, 'some')
      assert.deepEqual((await Promise.all(answers)).map(statusOf), Array(6).fill(200))
      await until('it is replaced', () => listening().length === before + 1, 30_000)
    })

    await t.test('a killed worker is replaced, the others serve, and its counts are kept', async () => {
      const before = await counted()
      const listened = listening().length
      const victim = Number(listening()[1]?.pid)

      process.kill(victim, 'SIGKILL')
      const restarts = () => gateway.logs.filter(line => /restarting/.test(String(line.msg))).length
      await until('it is noticed', () => restarts() === 2)
      const served = await chats(20)
      await until('another one listens', () => listening().length === listened + 1, 30_000)

      assert.deepEqual(new Set(served), new Set([200]))
      assert.equal(await counted(), before + 20)
      assert.deepEqual(new Set(await chats(20)), new Set([200]))
    })

    await t.test('SIGTERM lets every stream finish, also if sent to each process, with exit code 0', async () => {
      upstream.script({ words: Array.from({ length: 30 }, (_, i) => ` ${i}`), chunkDelayMs: 100 })
      const streams = await Promise.all(Array.from({ length: 12 }, () => gateway.openChat({}, { key: key.secret })))
      await Promise.all(streams.map(stream => stream.nextChunk()))

      gateway.signal('SIGTERM')
      const pids = listening().map(line => Number(line.pid))
      for (const pid of pids.filter(isAlive)) process.kill(pid, 'SIGTERM')
      const ends = await Promise.all(streams.map(stream => stream.rest()))

      assert.ok(ends.every(({ done, chunks }) => done && chunks.at(-1)?.error === undefined))
      assert.equal(await gateway.exited, 0)
      upstream.reset()
    })

    await t.test('workers of a killed primary drain', async () => {
      const before = listening().length
      await gateway.restart()
      await until('all listen', () => listening().length === before + 3, 30_000)
      upstream.script({ words: Array.from({ length: 20 }, (_, i) => ` ${i}`), chunkDelayMs: 100 })
      const streams = await Promise.all(Array.from({ length: 6 }, () => gateway.openChat({}, { key: key.secret })))
      await Promise.all(streams.map(stream => stream.nextChunk()))

      await gateway.kill()
      const ends = await Promise.all(streams.map(stream => stream.rest()))

      assert.ok(ends.every(({ done, chunks }) => done && chunks.at(-1)?.error === undefined))
      const pids = listening()
        .slice(-3)
        .map(line => Number(line.pid))
      await until('the workers have ended', () => !pids.some(isAlive))
    })

    await t.test('a second SIGTERM ends all of them quickly', async () => {
      const listened = listening().length
      await gateway.restart()
      await until('all listen', () => listening().length === listened + 3, 30_000)
      upstream.script({ words: ['one', ' two'], stallAfterChunks: 1 })
      const streams = await Promise.all(Array.from({ length: 6 }, () => gateway.openChat({}, { key: key.secret })))
      await Promise.all(streams.map(stream => stream.nextChunk()))

      const draining = () => gateway.logs.filter(line => String(line.msg) === 'draining').length
      const before = draining()
      gateway.signal('SIGTERM')
      await until('all drain', () => draining() === before + 3)
      gateway.signal('SIGTERM')
      const ends = await Promise.all(streams.map(stream => stream.rest()))

      assert.ok(ends.every(({ chunks }) => chunks.at(-1)?.error !== undefined))
      assert.equal(await gateway.exited, 0)
    })
  })

  test('a worker whose primary dies before it listens ends too', async () => {
    await using nodes = await startNodes(1, { env: WORKERS })
    const gateway = nodes.all[0]!
    const listening = () => gateway.logs.filter(line => String(line.msg) === 'listening')
    await until('all listen', () => listening().length === 3, 30_000)
    const parent = gateway.pid
    const first = childrenOf(parent)
    process.kill(first[0]!, 'SIGKILL')
    await until('another is started', () => childrenOf(parent).some(pid => !first.includes(pid)))
    process.kill(parent, 'SIGSTOP')
    const workers = childrenOf(parent)
    // Long enough for it to request its port, which nobody answers.
    await sleep(3000)

    process.kill(parent, 'SIGKILL')

    await until('the workers have ended', () => !workers.some(isAlive), 20_000)
  })

  test('the output of a first start is printed once, and its key works', async () => {
    await using nodes = await startNodes(1, { env: WORKERS })
    const gateway = nodes.all[0]!
    await until('all listen', () => gateway.logs.filter(line => String(line.msg) === 'listening').length === 3, 30_000)

    const secrets = gateway.lines.flatMap(line => /First key +(\S+)/.exec(line)?.[1] ?? [])
    assert.equal(secrets.length, 1)
    assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: secrets[0]! })).status, 200)
  })

  test('log lines are complete, also with a slow reader and a full pipe', async () => {
    await using folder = await temporaryFolder()
    const pipe = join(folder.path, 'log')
    execFileSync('mkfifo', [pipe])
    const end = openSync(pipe, 'r+')
    const lines = await logOfThousand(folder.path, end, () => {
      const read = text(createReadStream(pipe))
      closeSync(end)
      return read
    })

    assertWhole(lines)
  })

  test('log lines of several workers in one file are complete and not overwritten', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'log')
    const end = openSync(file, 'w')
    await logOfThousand(folder.path, end, async () => closeSync(end))

    assertWhole(readFileSync(file, 'utf8'))
  })
}

// The result of `read`, which is called after a thousand requests were answered, before the end.
async function logOfThousand<T>(folder: string, stdout: number, read: () => Promise<T>): Promise<T> {
  await using schema = await freshSchema()
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    DATABASE_URL: schema.url,
    TURNPIKE_ALLOW_UNSAFE_DATABASE: '1',
    TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY,
    TURNPIKE_ADMIN_TOKEN: ADMIN_TOKEN,
    TURNPIKE_PORT: String(port),
    TURNPIKE_DATA_DIR: folder,
    ...WORKERS,
  }
  const bin = fileURLToPath(new URL('../../../../bin/turnpike.js', import.meta.url))
  const gateway = spawn(process.execPath, [bin, 'serve'], { cwd: folder, env, stdio: ['ignore', stdout, 'ignore'] })
  const ended = once(gateway, 'exit')
  using _ = { [Symbol.dispose]: () => gateway.kill('SIGKILL') }
  const at = `http://127.0.0.1:${port}`
  const admin = { authorization: `Bearer ${ADMIN_TOKEN}` }
  await until('it is ready', () => fetch(`${at}/ready`).then(isOk, () => false), 30_000)
  const nodes = async () => (await httpCall<NodeList>(`${at}/admin/v1/nodes`, { headers: admin })).body.data.length
  await until('all lines are written', async () => (await nodes()) === 3, 30_000)

  const key = await httpCall(`${at}/admin/v1/keys`, { headers: admin, body: { name: 'log', rpm_limit: 100_000 } })
  const headers = { authorization: `Bearer ${key.body.secret}` }
  for (let i = 0; i < 20; i++) {
    await Promise.all(Array.from({ length: 50 }, () => httpCall(`${at}/v1/models`, { headers })))
  }
  const reading = read()
  gateway.kill('SIGINT')
  assert.deepEqual((await ended)[0], 0)
  return await reading
}

function assertWhole(log: string): void {
  const requests = log.split('\n').filter(line => line.includes('"request"'))
  assert.equal(requests.length, 1000)
  assert.deepEqual(
    requests.filter(line => !isJson(line)),
    [],
  )
}

function isOk({ ok }: { readonly ok: boolean }): boolean {
  return ok
}

function statusOf(answer: { readonly status: number }): number {
  return answer.status
}

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'object'
  } catch {
    return false
  }
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
