// The tarball of `npm pack` is what users install: it holds JavaScript, migrations, the dashboard and the documents, no
// sources and no tests, and `npx turnpike` starts it in an empty folder on the machine's own Node.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readdirSync } from 'node:fs'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { httpCall } from '../../../support/http-call.ts'
import { machineEnv, pack } from '../../../support/packed.ts'
import { until } from '../../../support/until.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')
const START_MS_MAX = 240_000

test('the package has what it needs, starts, and serves a chat', async t => {
  await using folder = await temporaryFolder()
  const tarball = await pack(folder.path)

  await t.test('it contains the program and its documents, and nothing else', async () => {
    await run('tar', ['-xzf', tarball, '-C', folder.path])
    const unpacked = join(folder.path, 'package')
    const migrations = (folder: string) =>
      globSync('**/migrations*/*.sql', { cwd: folder })
        .map(file => join(basename(dirname(file)), basename(file)))
        .sort()

    assert.deepEqual(globSync('*', { cwd: unpacked }).sort(), [
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'bin',
      'deploy',
      'dist',
      'docs',
      'package.json',
      'web',
    ])
    assert.deepEqual(globSync('{dist,web}/**/*.{ts,tsx}', { cwd: unpacked }), [])
    assert.deepEqual(migrations(join(unpacked, 'dist')), migrations(join(ROOT, 'src/store')))
    assert.equal(globSync('dist/reference/reference-*.js', { cwd: unpacked }).length, 1)
  })

  await t.test("after an install in an empty folder, npx turnpike starts it on the machine's own Node", async () => {
    await using gateway = await startWithNpx(tarball, folder.path)

    const answer = await httpCall(`${gateway.url}/v1/chat/completions`, {
      body: { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    const page = await httpCall(gateway.url)

    assert.equal(answer.status, 200, answer.text)
    assert.match(page.text, /\/assets\/index-/)
    const made = readdirSync(gateway.folder).toSorted()
    assert.deepEqual(made, ['data', 'node_modules', 'package-lock.json', 'package.json', basename(tarball)])
  })
})

async function startWithNpx(tarball: string, folder: string) {
  const empty = join(folder, 'empty')
  const cache = join(folder, 'cache')
  await mkdir(empty)
  await mkdir(cache)
  await cp(tarball, join(empty, basename(tarball)))
  const env = machineEnv()
  const { stdout } = await run('npm', ['config', 'get', 'cache'], { cwd: empty, env })
  // Existing downloads are used.
  await symlink(join(stdout.trim(), '_cacache'), join(cache, '_cacache'))

  // As in README: from the registry that npm is configured for.
  const installing = { ...env, npm_config_cache: cache }
  await run('npm', ['install', '--prefer-offline', `./${basename(tarball)}`], { cwd: empty, env: installing })

  const port = await freePort()
  const child = spawn('npx', ['turnpike'], {
    cwd: empty,
    // In its own process group, so that npx and its children can be stopped together.
    detached: true,
    env: { ...installing, TURNPIKE_PORT: String(port), TURNPIKE_DETECT_PROVIDERS: '0' },
  })
  const ended = once(child, 'exit')
  let output = ''
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', text => (output += text))
  const keyOf = () => /First key +(\S+)/.exec(output)?.[1]
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  const stop = (signal: NodeJS.Signals) => void (!isOver() && process.kill(-(child.pid ?? 0), signal))
  try {
    await until('the first key is printed', () => keyOf() !== undefined || isOver(), START_MS_MAX)
    assert.equal(isOver(), false)
    await until('it is ready', async () => (await httpCall(`http://127.0.0.1:${port}/ready`)).status === 200)
  } catch (error) {
    stop('SIGKILL')
    throw new Error(`npx did not start the gateway: ${output}`, { cause: error })
  }
  return {
    url: `http://127.0.0.1:${port}`,
    key: keyOf(),
    folder: empty,
    async [Symbol.asyncDispose]() {
      // The second one forces it.
      stop('SIGTERM')
      stop('SIGTERM')
      await ended
      // The gateway may outlive npx for a moment, and writes its compile cache then.
      await until('all of its processes have ended', () => !hasProcesses(child.pid ?? 0))
    },
  }
}

function hasProcesses(group: number): boolean {
  try {
    return process.kill(-group, 0)
  } catch {
    return false
  }
}
