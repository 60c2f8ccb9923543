// When the dashboard is built: by `bin/build.js` in a checkout that has its tools, if it is missing or stale, and
// nowhere else. A script replaces the build tool.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'

const TREE = join(import.meta.dirname, '../../../..')
const TOOL = `import { mkdirSync, writeFileSync } from 'node:fs'
const [, , verb, root, ...rest] = process.argv
console.log('output that is not passed on')
mkdirSync(root + '/dist', { recursive: true })
writeFileSync(root + '/dist/index.html', [verb, ...rest].join(' '))
`

test('a checkout with the tools is built, with one line on stderr and nothing on stdout', async () => {
  using checkout = openCheckout()

  const { stdout, stderr } = await checkout.build()

  assert.deepEqual([stdout, stderr], ['', 'Building the dashboard …\n'])
  assert.equal(readFileSync(join(checkout.root, 'web/dist/index.html'), 'utf8'), 'build --logLevel error')
})

test('without the sources or the tools nothing is built, and the command succeeds', async () => {
  for (const missing of ['web', 'node_modules']) {
    using checkout = openCheckout(missing)

    const { stdout, stderr } = await checkout.build()

    assert.deepEqual([stdout, stderr], ['', ''])
    assert.equal(existsSync(join(checkout.root, 'web/dist')), false)
  }
})

test('it is built again only when a source has changed', async () => {
  using checkout = openCheckout()

  await checkout.build()
  const second = await checkout.build()
  writeFileSync(join(checkout.root, 'web/index.html'), '<!doctype html><title>other</title>')
  const third = await checkout.build()

  assert.equal(second.stderr, '')
  assert.match(third.stderr, /Building the dashboard/)
})

test('a build that fails fails the command, and the next command builds again', async () => {
  using checkout = openCheckout()
  const tool = join(checkout.root, 'node_modules/vite/bin/vite.js')

  writeFileSync(tool, 'process.exit(3)')
  await assert.rejects(checkout.build(), { code: 3 })
  writeFileSync(tool, TOOL)
  const { stderr } = await checkout.build()

  assert.match(stderr, /Building the dashboard/)
})

function openCheckout(missing?: string) {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  for (const file of ['bin/build.js', 'bin/freshness.js', 'package.json']) cpSync(join(TREE, file), join(root, file))
  mkdirSync(join(root, 'web/src'), { recursive: true })
  mkdirSync(join(root, 'node_modules/vite/bin'), { recursive: true })
  writeFileSync(join(root, 'web/index.html'), '<!doctype html>')
  writeFileSync(join(root, 'node_modules/vite/bin/vite.js'), TOOL)
  writeFileSync(join(root, 'node_modules/vite/package.json'), '{"type":"module"}')
  if (missing !== undefined) rmSync(join(root, missing), { recursive: true })
  const run = promisify(execFile)
  return {
    root,
    build: () => run(process.execPath, ['bin/build.js'], { cwd: root, timeout: 60_000 }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}
