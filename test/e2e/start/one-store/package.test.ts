// The tarball of `npm pack` is what users install: it holds JavaScript, migrations, the dashboard and the documents, no
// sources and no tests, and `npx` runs it in an empty folder on the machine's own Node.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readdirSync } from 'node:fs'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { version } from '../../../../src/lib/version.ts'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'
import { httpCall } from '../../../support/http-call.ts'
import { until } from '../../../support/until.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')
const COPIED = [
  'bin',
  'src',
  'dist',
  'docs',
  'package.json',
  'package-lock.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
]
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
      'dist',
      'docs',
      'package.json',
      'web',
    ])
    assert.deepEqual(globSync('{dist,web}/**/*.{ts,tsx}', { cwd: unpacked }), [])
    assert.deepEqual(migrations(join(unpacked, 'dist')), migrations(join(ROOT, 'src/store')))
    assert.equal(globSync('dist/reference/reference-*.js', { cwd: unpacked }).length, 1)
  })

  await t.test("npx runs it in an empty folder on the machine's own Node", async () => {
    await using gateway = await startWithNpx(tarball, folder.path)

    const answer = await httpCall(`${gateway.url}/v1/chat/completions`, {
      body: { model: 'demo/echo', messages: [{ role: 'user', content: 'Hello' }] },
      headers: { authorization: `Bearer ${gateway.key}` },
    })
    const page = await httpCall(gateway.url)

    assert.equal(answer.status, 200, answer.text)
    assert.match(page.text, /\/assets\/index-/)
    assert.deepEqual(readdirSync(gateway.folder), ['data', basename(tarball)])
  })
})

// From a copy of the tree with its timestamps, so that the build is current and is not repeated.
async function pack(folder: string): Promise<string> {
  await run(process.execPath, [join(ROOT, 'bin/build.js')])
  const tree = join(folder, 'tree')
  for (const name of [...COPIED, 'web/dist']) {
    await cp(join(ROOT, name), join(tree, name), { recursive: true, preserveTimestamps: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', folder], { cwd: tree })
  return join(folder, `turnpike-${version()}.tgz`)
}

async function startWithNpx(tarball: string, folder: string) {
  const empty = join(folder, 'empty')
  const cache = join(folder, 'cache')
  await mkdir(empty)
  await mkdir(cache)
  await cp(tarball, join(empty, basename(tarball)))
  const env = machineEnv()
  const { stdout } = await run('npm', ['config', 'get', 'cache'], { cwd: empty, env })
  // Existing downloads are used; npx installs into a folder of this test.
  await symlink(join(stdout.trim(), '_cacache'), join(cache, '_cacache'))

  const port = await freePort()
  const child = spawn('npx', ['--yes', '--prefer-offline', `./${basename(tarball)}`, 'serve'], {
    cwd: empty,
    // In its own process group, so that npx and its children can be stopped together.
    detached: true,
    env: { ...env, npm_config_cache: cache, TURNPIKE_PORT: String(port), TURNPIKE_DETECT_PROVIDERS: '0' },
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
    },
  }
}

// As in a shell of the machine: without npm's variables, and without the Node of the development tools.
const HOW_TO_DOWNLOAD =
  /^(?:npm_config_(?:registry|userconfig|cafile|https?_proxy|proxy|noproxy)|NODE_EXTRA_CA_CERTS)$/i
const OF_THIS_RUN = /^(?:npm_|NODE|TURNPIKE_|DATABASE_URL$|REDIS_URL$|INIT_CWD|CI$)/i

function machineEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => HOW_TO_DOWNLOAD.test(name) || !OF_THIS_RUN.test(name))
  const path = (process.env.PATH ?? '').split(delimiter).filter(folder => !folder.includes('node_modules'))
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) }
}
