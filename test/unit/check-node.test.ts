// A machine on which the pinned Node lacks a library gets it, or its user gets an instruction; tested with a scripted
// node, apt-get and id.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/folder.ts'

const SCRIPT = fileURLToPath(new URL('../../bin/check-node.sh', import.meta.url))
const LOADER = 'node: error while loading shared libraries: libatomic.so.1: cannot open shared object file'
const RUNS = 'exit 0'
const FAILS = `echo '${LOADER}' >&2; exit 127`

type Machine = {
  readonly node: string
  readonly user?: number
  readonly apt?: string
  readonly ci?: string
  readonly args?: readonly string[]
}

async function check({ node, user = 1000, apt = 'exit 100', ci = '', args = [] }: Machine) {
  await using folder = await temporaryFolder()
  const command = (name: string, text: string) => {
    writeFileSync(join(folder.path, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder.path, name), 0o755)
  }
  for (const path of ['/usr/bin/env', '/usr/bin/timeout', '/usr/bin/dirname'])
    symlinkSync(path, join(folder.path, basename(path)))
  command('node', node)
  command('id', `echo ${user}`)
  command('sudo', 'shift; exec "$@"')
  command('apt-get', apt.replaceAll('HERE', folder.path))
  const { status, stdout, stderr } = spawnSync('/bin/sh', [SCRIPT, ...args], {
    env: { PATH: folder.path, CI: ci },
    encoding: 'utf8',
  })
  return { status, output: stdout + stderr }
}

// Replaces the node that does not run by one that reports its script.
const INSTALLS = `case "$*" in *install*libatomic1*) printf '#!/bin/sh\\ncase $1 in *build.js) echo built ;; esac\\n' > HERE/node ;; esac`

test('if Node runs, the build has failed, and its own message is enough', async () => {
  assert.deepEqual(await check({ node: RUNS }), { status: 1, output: '' })
})

test('as root and in CI the missing library is installed, with one line of output, and the build runs again', async () => {
  for (const machine of [{ user: 0 }, { user: 1000, ci: 'true' }]) {
    const { status, output } = await check({ node: FAILS, apt: INSTALLS, ...machine })

    assert.equal(status, 0, output)
    assert.match(output, /^built\nInstalling libatomic1, .*\n$/)
  }
})

test('other users get one line with what to install', async () => {
  for (const ci of ['', 'false']) {
    const { status, output } = await check({ node: FAILS, apt: INSTALLS, ci })

    assert.equal(status, 1)
    assert.match(output, /^.*apt-get install libatomic1.*\n$/)
  }
})

test('root gets an instruction if apt-get fails', async () => {
  const { status, output } = await check({ node: FAILS, user: 0 })

  assert.equal(status, 1)
  assert.match(output, /apt-get install libatomic1/)
})

test('npm ci installs nothing and succeeds: it prints in one line that npm start will', async () => {
  for (const user of [0, 1000]) {
    const { status, output } = await check({ node: FAILS, apt: 'echo called; exit 100', user, args: ['later'] })

    assert.equal(status, 0)
    assert.match(output, /^.*libatomic.*npm start installs it.*\n$/)
  }
})

test('a Node that fails for another reason is left unchanged, and its message is shown', async () => {
  const { status, output } = await check({ node: 'echo "Exec format error" >&2; exit 126', user: 0, apt: INSTALLS })

  assert.equal(status, 1)
  assert.match(output, /Exec format error\n.*does not run on this machine/)
})
