// Output to a closed pipe: a command ends without a stack trace, and a first start keeps no secret that was never
// shown.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { temporaryFolder } from '../../../support/folder.ts'
import { freePort } from '../../../support/free-port.ts'

const COMMAND = join(import.meta.dirname, '../../../../bin/turnpike.js')

test('a command whose output is closed ends quietly', async t => {
  await using folder = await temporaryFolder()
  for (const args of ['--help', 'version', 'keys --help', 'keys create --help', 'config check']) {
    await t.test(`turnpike ${args}`, async () => {
      const child = start(args.split(' '), folder.path)
      child.stdout?.destroy()

      assert.deepEqual(await Promise.all([codeOf(child), text(child.stderr!)]), [1, ''])
    })
  }

  await t.test('an error message', async () => {
    const child = start(['garbage'], folder.path)
    child.stderr?.destroy()

    assert.deepEqual(await Promise.all([codeOf(child), text(child.stdout!)]), [2, ''])
  })
})

test('a full disk for the output is reported, and the command fails', async () => {
  await using folder = await temporaryFolder()
  const full = openSync('/dev/full', 'w')

  const child = spawn(process.execPath, [COMMAND, 'config', 'check'], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, TURNPIKE_DETECT_PROVIDERS: '0' },
    stdio: ['ignore', full, 'pipe'],
  })
  const [code, said] = await Promise.all([codeOf(child), text(child.stderr!)])
  closeSync(full)

  assert.equal(code, 1)
  assert.match(said, /^turnpike: cannot write output: .*ENOSPC.*\n$/)
})

test('a first start whose output is closed ends, and the next one shows the secrets', async () => {
  await using folder = await temporaryFolder()
  const env = { TURNPIKE_PORT: String(await freePort()) }

  const unread = start(['serve'], folder.path, env)
  unread.stdout?.destroy()
  const [code, said] = await Promise.all([codeOf(unread), text(unread.stderr!)])
  const next = start(['serve'], folder.path, env)
  let shown = ''
  for await (const chunk of next.stdout ?? []) {
    shown += String(chunk)
    if (shown.includes('"listening"')) next.kill('SIGTERM')
  }

  assert.deepEqual([code, said], [1, 'turnpike: write EPIPE\n'])
  assert.match(shown, /svc_live_\w+/)
  assert.match(shown, /shown only once/)
})

function start(args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
  const own = { PATH: process.env.PATH, TURNPIKE_DETECT_PROVIDERS: '0', ...env }
  return spawn(process.execPath, [COMMAND, ...args], { cwd, env: own, stdio: ['ignore', 'pipe', 'pipe'] })
}

async function codeOf(child: ChildProcess): Promise<number | null> {
  const [code] = await once(child, 'exit')
  return code as number | null
}
