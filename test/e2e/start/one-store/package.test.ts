// What `npm pack` makes is what people install: it holds JavaScript and migrations, the documents, no sources
// and no tests, and it starts.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../support/folder.ts'
import { startGateway } from '../../../support/gateway.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../..')
const MATTERS = ['bin', 'src', 'docs', 'package.json', 'README.md', 'CHANGELOG.md', 'LICENSE']

test('the package has what it needs, starts, and serves a chat', async t => {
  await using folder = await temporaryFolder()
  const installed = await packAndUnpack(folder.path)

  await t.test('it holds what is run and what is read, and nothing else', () => {
    const top = globSync('*', { cwd: installed }).filter(name => name !== 'node_modules')
    const migrations = (folder: string) =>
      globSync('**/migrations*/*.sql', { cwd: folder })
        .map(file => join(basename(dirname(file)), basename(file)))
        .sort()

    assert.deepEqual(top.sort(), ['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json'])
    assert.deepEqual(globSync('dist/**/*.ts', { cwd: installed }), [])
    assert.deepEqual(migrations(join(installed, 'dist')), migrations(join(ROOT, 'src/store')))
  })

  await t.test('its command says what it can do', async () => {
    const { stdout } = await run(process.execPath, [join(installed, 'bin/turnpike.js'), '--help'], { cwd: folder.path })

    assert.match(stdout, /serve/)
  })

  await t.test('it serves a chat from its first start on', async () => {
    await using gateway = await startGateway({ installed })

    const answer = await gateway.chat({ model: 'demo/echo' })

    assert.equal(answer.status, 200, answer.text)
    assert.equal(await gateway.stop({ hurry: true }), 0)
  })
})

// In a copy of the tree: the build must not come between tests that run at the same time.
async function packAndUnpack(folder: string): Promise<string> {
  const tree = join(folder, 'tree')
  await mkdir(tree)
  for (const name of MATTERS) await cp(join(ROOT, name), join(tree, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))

  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: tree })
  // What the build prints comes before it.
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('[\n'))) as [{ filename: string }]
  await run('tar', ['-xzf', join(folder, filename), '-C', folder])

  const installed = join(folder, 'package')
  await symlink(join(ROOT, 'node_modules'), join(installed, 'node_modules'))
  return installed
}
