// Profiles of the command line: private files, written whole, and tokens that reach only the gateway they are for.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../../src/cli/connection.ts'
import { profilesFile, readProfiles, writeProfiles } from '../../src/cli/profiles.ts'

const PROD = { url: 'https://prod.example', token: 'tpk_prod' }
const LOCAL = { url: 'http://127.0.0.1:8080', token: 'tpk_local' }

test('a profile file is readable by its owner alone, whatever the umask, and replaced as a whole', () => {
  using place = openPlace()
  const before = process.umask(0)
  try {
    writeProfiles({ current: 'prod', entries: { prod: PROD } })
    writeProfiles({ current: 'local', entries: { prod: PROD, local: LOCAL } })
  } finally {
    process.umask(before)
  }

  assert.equal(statSync(profilesFile()).mode & 0o777, 0o600)
  assert.equal(statSync(dirname(profilesFile())).mode & 0o777, 0o700)
  assert.deepEqual(readdirSync(dirname(profilesFile())), ['profiles.json'])
  assert.deepEqual(readProfiles(), { current: 'local', entries: { prod: PROD, local: LOCAL } })
  assert.ok(profilesFile().startsWith(place.dir))
})

for (const mode of [0o640, 0o604, 0o660]) {
  test(`a file of mode ${mode.toString(8)} is not used`, () => {
    using _place = openPlace({ current: 'prod', entries: { prod: PROD } })
    chmodSync(profilesFile(), mode)

    assert.throws(() => readProfiles(), /other users can read .*profiles\.json, so it is not used; run: chmod 600/)
  })
}

test('what is not a file is named, and a pipe does not block', { skip: process.platform === 'win32' }, () => {
  using _place = openPlace({ current: 'prod', entries: { prod: PROD } })
  const notAFile = /profiles\.json is not a file; delete it/
  rmSync(profilesFile())
  execFileSync('mkfifo', ['-m', '600', profilesFile()])
  assert.throws(() => readProfiles(), notAFile)
  rmSync(profilesFile())
  mkdirSync(profilesFile(), { mode: 0o700 })
  assert.throws(() => readProfiles(), notAFile)
})

test('a damaged file is named, without what is in it', () => {
  using _place = openPlace({ current: undefined, entries: {} })
  for (const text of ['{"profiles":{"a":{"token":"tpk_secret"}}}', 'tpk_secret', '{}']) {
    writeFileSync(profilesFile(), text)
    assert.throws(
      () => readProfiles(),
      (error: Error) => /is damaged/.test(error.message) && !error.message.includes('tpk_secret'),
    )
  }
  assert.ok(readFileSync(profilesFile(), 'utf8') === '{}')
})

const TWO = { current: 'prod', entries: { prod: PROD, local: LOCAL } }
type Case = readonly [
  options: Record<string, string>,
  env: Record<string, string>,
  url: string,
  token: string | undefined,
]
const ENV = { TURNPIKE_URL: 'https://env.example', TURNPIKE_ADMIN_TOKEN: 'env' }
const CASES: readonly Case[] = [
  [{}, {}, PROD.url, PROD.token],
  [{ profile: 'local' }, {}, LOCAL.url, LOCAL.token],
  [{ profile: 'local' }, ENV, LOCAL.url, LOCAL.token],
  [{}, { TURNPIKE_PROFILE: 'local' }, LOCAL.url, LOCAL.token],
  [{}, ENV, 'https://env.example', 'env'],
  [{}, { TURNPIKE_ADMIN_TOKEN: 'env' }, 'http://127.0.0.1:8080', 'env'],
  // A profile's token is for its own URL only.
  [{}, { TURNPIKE_URL: 'https://other.example' }, 'https://other.example', undefined],
  [{}, { TURNPIKE_URL: PROD.url }, PROD.url, PROD.token],
  [{ url: 'https://other.example' }, {}, 'https://other.example', undefined],
  [{ url: 'https://other.example' }, ENV, 'https://other.example', 'env'],
  [{ url: `${PROD.url}/` }, {}, PROD.url, PROD.token],
]

for (const [options, env, url, token] of CASES) {
  test(`${JSON.stringify(options)} with ${JSON.stringify(env)} is ${url} with ${token}`, async () => {
    using _place = openPlace(TWO, env)

    const found = await connect({ text: name => options[name], flag: () => false })

    assert.deepEqual([found.url, found.token], [url, token])
  })
}

test('a URL that is not that of the named profile is refused, and so is an unknown profile', async () => {
  using _place = openPlace(TWO)
  const given = (options: Record<string, string>) => connect({ text: name => options[name], flag: () => false })

  await assert.rejects(given({ url: 'https://other.example', profile: 'prod' }), /pass one of the two/)
  await assert.rejects(
    given({ profile: 'prd' }),
    /there is no profile "prd"; did you mean prod\?\nprofiles: prod, local/,
  )
})

test('the file is not read where the environment names gateway and token', async () => {
  using _place = openPlace(TWO, ENV)
  chmodSync(profilesFile(), 0o644)

  assert.equal((await connect({ text: () => undefined, flag: () => false })).token, 'env')
})

// Its own folder of settings and its own variables, until it is disposed.
function openPlace(profiles?: Parameters<typeof writeProfiles>[0], env: Record<string, string> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'turnpike-profiles-'))
  const before = { ...process.env }
  for (const name of Object.keys(process.env)) if (name.startsWith('TURNPIKE_')) delete process.env[name]
  Object.assign(process.env, { XDG_CONFIG_HOME: dir }, env)
  if (profiles !== undefined) writeProfiles(profiles)
  return {
    dir,
    [Symbol.dispose]() {
      for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
      Object.assign(process.env, before)
      rmSync(dir, { recursive: true })
    },
  }
}
