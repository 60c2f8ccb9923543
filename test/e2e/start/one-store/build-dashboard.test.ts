// When the dashboard is built: by `prepare` in a checkout that has its tools, at a start that is told to if it is missing, and
// never elsewhere. A scripted stand-in takes the place of the build tool.
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
console.log('chatter that nobody asked for')
mkdirSync(root + '/dist', { recursive: true })
writeFileSync(root + '/dist/index.html', [verb, ...rest].join(' '))
`

test('a checkout with the tools is built, with one line on stderr and nothing on stdout', async () => {
  using fixture = openCheckout()

  const { stdout, stderr } = await fixture.prepare()

  assert.deepEqual([stdout, stderr], ['', 'Building the dashboard, this once …\n'])
  assert.equal(readFileSync(join(fixture.root, 'web/dist/index.html'), 'utf8'), 'build --logLevel error')
})

test('without the sources or the tools there is nothing to do, and that is no failure', async () => {
  for (const missing of ['web', 'node_modules']) {
    using fixture = openCheckout(missing)

    const { stdout, stderr } = await fixture.prepare()

    assert.deepEqual([stdout, stderr], ['', ''])
    assert.equal(existsSync(join(fixture.root, 'web/dist')), false)
  }
})

test('a start builds what is missing, once, and nothing where there are no sources', async () => {
  using fixture = openCheckout()
  using installed = openCheckout('web')

  const first = await fixture.start()
  const second = await fixture.start()
  const elsewhere = await installed.start()

  assert.match(first.stderr, /Building the dashboard/)
  assert.deepEqual([second.stderr, elsewhere.stderr], ['', ''])
})

function openCheckout(missing?: string) {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  for (const file of ['bin/build-dashboard.js', 'src/cli/build-web.ts', 'src/lib/package-root.ts', 'package.json']) {
    cpSync(join(TREE, file), join(root, file))
  }
  mkdirSync(join(root, 'web'), { recursive: true })
  mkdirSync(join(root, 'node_modules/vite/bin'), { recursive: true })
  writeFileSync(join(root, 'web/index.html'), '<!doctype html>')
  writeFileSync(join(root, 'node_modules/vite/bin/vite.js'), TOOL)
  writeFileSync(join(root, 'node_modules/vite/package.json'), '{"type":"module"}')
  if (missing !== undefined) rmSync(join(root, missing), { recursive: true })
  const run = (...args: string[]) => promisify(execFile)(process.execPath, args, { cwd: root, timeout: 60_000 })
  const starting = "import('./src/cli/build-web.ts').then(({ buildWebIfMissing }) => buildWebIfMissing())"
  return {
    root,
    prepare: () => run('bin/build-dashboard.js'),
    start: () => run('-e', starting),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}
