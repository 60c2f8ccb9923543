// A start runs dist/ only while it is current: an edited, added or removed source makes it stale.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { CODE, isCurrent, stateOf } from '../../bin/freshness.js'

const SOURCES = ['src/cli/main.ts', 'src/lib/clock.ts', 'package-lock.json', 'bin/build.js']

test('without a build nothing is current', () => {
  using tree = openTree(SOURCES)

  assert.equal(isCurrent(tree.root, CODE), false)
})

test('a build is current while its sources are unchanged, and always without sources', () => {
  using checkout = openTree([...SOURCES, CODE.entry])
  using installed = openTree([CODE.entry])
  checkout.stamp()

  assert.equal(isCurrent(checkout.root, CODE), true)
  assert.equal(isCurrent(installed.root, CODE), true)
})

test('a build without a stamp is stale', () => {
  using tree = openTree([...SOURCES, CODE.entry])

  assert.equal(isCurrent(tree.root, CODE), false)
})

test('an edited, added, removed or older source makes a build stale, and so does another version of a dependency', () => {
  const changes: Readonly<Record<string, (root: string) => void>> = {
    edited: root => writeFileSync(join(root, 'src/lib/clock.ts'), 'other'),
    added: root => writeFileSync(join(root, 'src/lib/more.ts'), ''),
    removed: root => rmSync(join(root, 'src/lib/clock.ts')),
    older: root => utimesSync(join(root, 'src/lib/clock.ts'), 0, 0),
    locked: root => writeFileSync(join(root, 'package-lock.json'), 'other'),
    tooled: root => writeFileSync(join(root, 'bin/build.js'), 'other'),
  }
  for (const [what, change] of Object.entries(changes)) {
    using tree = openTree([...SOURCES, CODE.entry])
    tree.stamp()
    change(tree.root)

    assert.equal(isCurrent(tree.root, CODE), false, what)
  }
})

// A checkout; `stamp` records what its build was made of.
function openTree(files: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
  return {
    root,
    stamp: () => writeFileSync(join(root, CODE.stamp), stateOf(root, CODE.sources)),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}
