// Builds what is stale in a checkout: the gateway into dist/ and the dashboard into web/dist. It does nothing where the sources or the
// tools are missing, as in the published package, which holds both built.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { CODE, DASHBOARD, isCurrent, stateOf } from './freshness.js'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const ENTRIES = [
  'src/cli/main.ts',
  'src/store/sqlite/sqlite-worker.ts',
  'src/lib/tokens-worker.ts',
  'src/upstream/large-answer-worker.ts',
]
// Folders that the code looks for next to itself.
const COPIED = ['src/store/sqlite/migrations', 'src/store/postgres/migrations-postgres']
// Packages of many small files that every start needs: a start reads some 30 files instead of 1,300, in half the time.
const BUNDLED = ['fastify', '@fastify/cookie', 'typebox', 'ipaddr.js', '@prometheus-io/client']

const LOGO = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(?:-full)?\.svg/g

// Holds the id of the process that builds. Two builds at once would delete each other's output: the second waits, then finds nothing stale.
const LOCK = join(ROOT, 'node_modules', '.cache', 'turnpike-build')

const isDashboardDue = () => isStale(DASHBOARD) && hasTool('vite')
const isCodeDue = () => isStale(CODE) && hasTool('rolldown')

if (isDashboardDue() || isCodeDue()) {
  while (!isLocked()) await setTimeout(100)
  try {
    if (isDashboardDue()) buildDashboard()
    if (isCodeDue()) await buildCode()
  } finally {
    rmSync(LOCK, { force: true })
  }
}

function isLocked() {
  mkdirSync(dirname(LOCK), { recursive: true })
  try {
    writeFileSync(LOCK, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
    if (isAbandoned()) rmSync(LOCK, { force: true })
    return false
  }
}

function isAbandoned() {
  try {
    const pid = Number(readFileSync(LOCK, 'utf8'))
    // Empty while its process is writing it.
    return pid !== 0 && !process.kill(pid, 0)
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

function isStale(build) {
  return existsSync(join(ROOT, build.sources[0])) && !isCurrent(ROOT, build)
}

function hasTool(name) {
  return existsSync(join(ROOT, 'node_modules', name))
}

function buildDashboard() {
  console.error('Building the dashboard …')
  // Recorded before a source is read: an edit during the build makes it stale.
  const state = stateOf(ROOT, DASHBOARD.sources)
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js')
  const args = [vite, 'build', join(ROOT, 'web'), '--logLevel', 'error']
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status === 0) {
    for (const file of globSync('**/*.{js,css,html,svg}', { cwd: join(ROOT, DASHBOARD.output) }))
      compress(join(ROOT, DASHBOARD.output, file))
    writeFileSync(join(ROOT, DASHBOARD.stamp), state)
  } else process.exitCode = status ?? 1
}

// The server sends this to clients that accept it and compresses nothing itself.
function compress(path) {
  writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }))
}

// The script of the page at /docs: Redoc and the call that starts it. Its logo would be loaded from another host, so text replaces it.
function buildReference(folder) {
  const logo =
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="12"><text y="10" font-size="11" font-family="sans-serif" fill="%23777">Redoc</text></svg>'
  const source = readFileSync(fileURLToPath(import.meta.resolve('redoc/bundles/redoc.standalone.js')), 'utf8')
  const start = `\ninit('/openapi.json', { disableTelemetry: true }, document.getElementById('reference'))\n`
  const script = source.replace(LOGO, () => `data:image/svg+xml,${logo}`) + start
  // Its name changes with its content, so that browsers may keep it.
  const name = `reference-${createHash('sha256').update(script).digest('hex').slice(0, 8)}.js`
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), script)
  compress(join(folder, name))
}

async function buildCode() {
  const state = stateOf(ROOT, CODE.sources)
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({
    cwd: ROOT,
    input: ENTRIES.map(entry => join(ROOT, entry)),
    platform: 'node',
    external: installedSeparately(),
    // Every line is kept: a call that is made only to see whether it throws is no dead code.
    treeshake: false,
    // As globals they are getters, which are called at each use.
    transform: { inject: { Buffer: ['node:buffer', 'Buffer'], performance: ['node:perf_hooks', 'performance'] } },
    logLevel: 'warn',
  })
  // Written next to dist/ and then moved, so that no process starts from an incomplete build.
  const fresh = join(ROOT, `${CODE.output}-${process.pid}`)
  try {
    await bundle.write({
      dir: fresh,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      // A file of its own, so that tests can replace its numbers.
      codeSplitting: { groups: [{ name: 'limits', test: /config\/limits\.ts$/ }] },
      minify: false,
    })
    buildReference(join(fresh, 'reference'))
    for (const folder of COPIED) cpSync(join(ROOT, folder), join(fresh, basename(folder)), { recursive: true })
    writeFileSync(join(fresh, basename(CODE.stamp)), state)
    rmSync(join(ROOT, CODE.output), { recursive: true, force: true })
    renameSync(fresh, join(ROOT, CODE.output))
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

function installedSeparately() {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const names = Object.keys({ ...dependencies, ...peerDependencies }).filter(name => !BUNDLED.includes(name))
  const isSeparate = id => names.some(name => id === name || id.startsWith(`${name}/`))
  // The metrics client needs OpenTelemetry's API: some 50 small files, which would be read at each start, also without OpenTelemetry.
  return (id, importer) => isSeparate(id) && !importer?.includes('/@prometheus-io/client/')
}
