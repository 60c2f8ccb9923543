// A Postgres that may lose acknowledged commits: refused at start, or warned about if the operator insists.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { runProcess } from '../../../support/gateway-process.ts'
import { hasPostgres, startServer } from '../../../support/postgres.ts'
import { startUpstream } from '../../../support/upstream.ts'

const ENV = { TURNPIKE_ENCRYPTION_KEY: 'ab'.repeat(32), TURNPIKE_ADMIN_TOKEN: 'a-token-of-the-operator' }

if (hasPostgres()) {
  test('a server, database or role without synchronous commits is refused', async t => {
    const safe = await startServer(['jit=off'])
    const unsafe = await startServer(['fsync=off', 'jit=off'])
    await using upstream = await startUpstream()
    const refused = async (url: string) => {
      await using folder = await temporaryFolder()
      const env = { ...ENV, DATABASE_URL: url, TURNPIKE_ALLOW_UNSAFE_DATABASE: '0' }
      return await runProcess(['serve'], folder.path, { ...env, TURNPIKE_PORT: String(await freePort()) })
    }
    const started = (url: string, allowed: string) =>
      startGateway({
        config: standardConfig(upstream.url),
        env: {
          TURNPIKE_ENCRYPTION_KEY: ENV.TURNPIKE_ENCRYPTION_KEY,
          DATABASE_URL: url,
          TURNPIKE_ALLOW_UNSAFE_DATABASE: allowed,
        },
      })

    await t.test('by the server', async () => {
      const result = await refused(unsafe.url)

      assert.equal(result.code, 2)
      assert.match(result.stderr, /^.*fsync = off: .*TURNPIKE_ALLOW_UNSAFE_DATABASE=1/m)
      assert.ok(!result.stderr.includes('synchronous_commit'))
      assert.deepEqual(await tables(unsafe.url), [])
    })

    await t.test('a safe one is accepted without a warning', async () => {
      await using gateway = await started(safe.url, '0')

      assert.ok(!gateway.logs.some(line => String(line.msg).includes('lose')))
    })

    for (const [what, change] of [
      ['by the role', 'ALTER ROLE postgres SET synchronous_commit = off'],
      ['by the database', 'ALTER ROLE postgres RESET ALL; ALTER DATABASE postgres SET synchronous_commit = off'],
    ] as const) {
      await t.test(what, async () => {
        await asked(safe.url, change)

        const result = await refused(safe.url)

        assert.equal(result.code, 2)
        assert.match(result.stderr, /synchronous_commit = off: /)
      })
    }

    await t.test('with the override it is accepted with a warning', async () => {
      await using gateway = await started(safe.url, '1')

      const warned = gateway.logs.filter(line => String(line.msg).includes('synchronous_commit = off'))
      assert.deepEqual(
        warned.map(line => line.level),
        ['warn'],
      )
    })
  })
}

async function asked(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const result = await client.query(text).finally(() => client.end())
  return result.rows ?? []
}

const tables = (url: string) => asked(url, `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
