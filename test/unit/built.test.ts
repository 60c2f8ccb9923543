// A start takes dist/ only while it is of the sources that are there: whoever edits, adds or removes one runs what they wrote.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ENTRY, isBuilt } from '../../bin/built.js'

const BEFORE = new Date('2026-01-01T00:00:00Z')
const BUILT = new Date('2026-01-02T00:00:00Z')
const AFTER = new Date('2026-01-03T00:00:00Z')

test('what is not there is not built', () => {
  using tree = openTree(['src/cli/turnpike.ts'])

  assert.equal(isBuilt(tree.root), false)
})

test('a build is taken while no source is newer, and where there are no sources', () => {
  using checkout = openTree(['src/cli/turnpike.ts', 'src/lib/clock.ts', ENTRY])
  using installed = openTree([ENTRY])

  assert.equal(isBuilt(checkout.root), true)
  assert.equal(isBuilt(installed.root), true)
})

test('an edited, an added and a removed source each make it old, and so does another version of a dependency', () => {
  for (const changed of ['src/lib/clock.ts', 'src/lib', 'src', 'package-lock.json', 'bin/build-code.js']) {
    using tree = openTree(['src/lib/clock.ts', 'package-lock.json', 'bin/build-code.js', ENTRY])
    utimesSync(join(tree.root, changed), AFTER, AFTER)

    assert.equal(isBuilt(tree.root), false, changed)
  }
})

// As a checkout that was written and then built.
function openTree(files: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), '')
  }
  for (const file of files) {
    const at = file === ENTRY ? BUILT : BEFORE
    for (let path = file; path !== '.'; path = dirname(path)) utimesSync(join(root, path), at, at)
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) }
}
