// Environment variables: parsed to their values, invalid ones are refused by name, without their secrets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadClientEnv, loadDataDir } from '../../src/config/command-env.ts'
import { loadConfig } from '../../src/config/config.ts'
import { openPlace } from '../support/config-file.ts'

const BAD_VARIABLES: readonly (readonly [name: string, value: string])[] = [
  ['TURNPIKE_UPDATE_URL', 'https://me:secret@packages.example'],
  ['TURNPIKE_UPDATE_URL', 'file:///etc/passwd'],
  ['TURNPIKE_PROT', '8080'],
  ['TURNPIKE_PORT', '99999'],
  ['TURNPIKE_HOST', 'a b'],
  ['TURNPIKE_ADMIN_LISTEN', 'everywhere'],
  ['TURNPIKE_CONFIG', 'no-such-file.yaml'],
  ['TURNPIKE_ADMIN_TOKEN', 'fifteen-letters'],
  ['TURNPIKE_ADMIN_TOKEN', 'sixteen letters and blanks'],
  ['TURNPIKE_ENCRYPTION_KEY', 'abc'],
  ['TURNPIKE_TRUSTED_PROXIES', '10.0.0.0/8,10.0.0.999'],
  ['TURNPIKE_WORKERS', '2'],
  ['TURNPIKE_WORKERS', '0'],
  ['TURNPIKE_WORKERS', 'many'],
  ['TURNPIKE_NODE_NAME', 'a b'],
  ['TURNPIKE_DETECT_PROVIDERS', 'maybe'],
  ['TURNPIKE_LOG_LEVEL', 'loud'],
  ['TURNPIKE_FAILPOINTS', 'after_hold=explode'],
  ['DATABASE_URL', 'postgres://localhost/x'],
  ['DATABASE_URL', 'mysql://localhost/x'],
  ['REDIS_URL', 'localhost:6379'],
  ['REDIS_URL', 'http://localhost:6379'],
  ['REDIS_URL', 'redis:///0'],
  ['REDIS_URL', 'redis://localhost:99999'],
  ['REDIS_URL', 'redis://localhost/main'],
  ['REDIS_URL', 'redis://localhost/0?family=6'],
  ['REDIS_URL', 'redis://user:%zz@localhost'],
]

for (const [name, value] of BAD_VARIABLES) {
  test(`${name}=${value} is refused by name`, () => {
    using place = openPlace()

    assert.throws(() => loadConfig({ [name]: value }, place.dir), {
      name: 'BadConfig',
      message: new RegExp(`^${name}\\b`),
    })
  })
}

test('REDIS_URL is accepted with a user, a password and a database, and an error does not repeat the password', () => {
  using place = openPlace()

  for (const url of ['redis://localhost', 'rediss://me:se%40cret@[::1]:6380/15', 'redis://:se%40cret@cache/']) {
    assert.equal(loadConfig({ REDIS_URL: url }, place.dir).redisUrl, url)
  }
  assert.throws(
    () => loadConfig({ REDIS_URL: 'redis://me:hunter2@localhost/main' }, place.dir),
    (error: Error) => error.name === 'BadConfig' && !error.message.includes('hunter2'),
  )
})

test('DATABASE_URL is accepted if the encryption key and the admin token are set too, and an error does not repeat its password', () => {
  using place = openPlace()
  const url = 'postgres://user:pa55word@localhost/x'
  const shared = { TURNPIKE_ENCRYPTION_KEY: 'ab'.repeat(32), TURNPIKE_ADMIN_TOKEN: 'sixteen-letters-' }

  assert.equal(loadConfig({ DATABASE_URL: url, ...shared }, place.dir).databaseUrl, url)
  for (const missing of Object.keys(shared)) {
    assert.throws(
      () => loadConfig({ DATABASE_URL: url, ...shared, [missing]: undefined }, place.dir),
      (error: Error) => error.message.includes(missing) && !error.message.includes('pa55word'),
    )
  }
  assert.throws(() => loadDataDir({ DATABASE_URL: url }, place.dir), /this command is for SQLite/)
})

test('variables that Kubernetes injects for a service named turnpike are ignored', () => {
  using place = openPlace()

  const config = loadConfig(
    {
      TURNPIKE_SERVICE_HOST: '10.0.0.1',
      TURNPIKE_PORT: 'tcp://10.0.0.1:8080',
      TURNPIKE_PORT_8080_TCP_ADDR: '10.0.0.1',
      TURNPIKE_EXTRA: 'tcp://10.0.0.1:9090',
    },
    place.dir,
  )

  assert.equal(config.port, 8080)
})

test('variables are parsed to their values', () => {
  using place = openPlace('trusted_proxies: [192.0.2.1]\n')

  const config = loadConfig(
    {
      TURNPIKE_PORT: '0',
      TURNPIKE_HOST: '',
      TURNPIKE_ADMIN_LISTEN: '[::1]:9090',
      TURNPIKE_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      TURNPIKE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      TURNPIKE_FAILPOINTS: 'after_hold=throw*2,before_settle=sleep:100',
      TURNPIKE_DETECT_PROVIDERS: '0',
    },
    place.dir,
  )

  assert.deepEqual([config.port, config.host, config.adminListen], [0, '127.0.0.1', { host: '::1', port: 9090 }])
  assert.deepEqual(config.trustedProxies, ['10.0.0.0/8', '::1'])
  assert.equal(config.encryptionKey, '07'.repeat(32))
  assert.deepEqual(config.failpoints, {
    after_hold: { action: 'throw', times: 2 },
    before_settle: { action: 'sleep', ms: 100 },
  })
})

test("the CLI's client has a URL and a token, and no credentials in the URL", () => {
  const unset = { url: undefined, adminToken: undefined, apiKey: undefined, profile: undefined }
  assert.deepEqual(loadClientEnv({}), unset)
  assert.equal(loadClientEnv({ TURNPIKE_URL: 'https://gw.example/' }).url, 'https://gw.example')
  assert.throws(() => loadClientEnv({ TURNPIKE_URL: 'http://a:b@gw.example' }), { name: 'BadConfig' })
})
