// A machine on which the pinned Node misses a library gets it, or its user is told how; seen with a Node, an apt-get and an id
// of our own.
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
const MISSES = `echo '${LOADER}' >&2; exit 127`

type Machine = { readonly node: string; readonly user?: number; readonly apt?: string; readonly ci?: string }

async function check({ node, user = 1000, apt = 'exit 100', ci = '' }: Machine) {
  await using folder = await temporaryFolder()
  const command = (name: string, text: string) => {
    writeFileSync(join(folder.path, name), `#!/bin/sh\n${text}\n`)
    chmodSync(join(folder.path, name), 0o755)
  }
  for (const path of ['/bin/cat', '/usr/bin/env', '/usr/bin/timeout'])
    symlinkSync(path, join(folder.path, basename(path)))
  command('node', node)
  command('id', `echo ${user}`)
  command('sudo', 'shift; exec "$@"')
  command('apt-get', apt.replaceAll('HERE', folder.path))
  const { status, stdout, stderr } = spawnSync('/bin/sh', [SCRIPT], {
    env: { PATH: folder.path, CI: ci },
    encoding: 'utf8',
  })
  return { status, said: stdout + stderr }
}

// Puts a Node in the place of the one that does not run.
const INSTALLS = `case "$*" in *install*libatomic1*) printf '#!/bin/sh\\nexit 0\\n' > HERE/node ;; esac`

test('a Node that runs is nothing to speak of', async () => {
  assert.deepEqual(await check({ node: RUNS }), { status: 0, said: '' })
})

test('root gets the library that is missing, and so does CI', async () => {
  for (const machine of [{ user: 0 }, { user: 1000, ci: 'true' }]) {
    const { status, said } = await check({ node: MISSES, apt: INSTALLS, ...machine })

    assert.equal(status, 0, said)
    assert.match(said, /^Installing libatomic1, .*\n$/)
  }
})

test('everybody else is told what to install, and so is root where that fails', async () => {
  for (const machine of [{ user: 1000, apt: INSTALLS }, { user: 1000, apt: INSTALLS, ci: 'false' }, { user: 0 }]) {
    const { status, said } = await check({ node: MISSES, ...machine })

    assert.equal(status, 1)
    assert.match(said, /sudo apt-get install libatomic1/)
  }
})

test('a Node that fails in another way is left as it is, and its words are passed on', async () => {
  const { status, said } = await check({ node: 'echo "Exec format error" >&2; exit 126', user: 0, apt: INSTALLS })

  assert.equal(status, 1)
  assert.match(said, /Exec format error\n.*does not run on this machine/)
})
