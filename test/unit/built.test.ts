// A start takes dist/ only while it is of the sources that are there: whoever edits, adds or removes one runs what they wrote.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { ENTRY, fingerprint, isBuilt, MADE_FROM } from '../../bin/built.js'

const SOURCES = ['src/cli/main.ts', 'src/lib/clock.ts', 'package-lock.json', 'bin/build-code.js']

test('what is not there is not built', () => {
  using tree = openTree(SOURCES)

  assert.equal(isBuilt(tree.root), false)
})

test('a build is taken while it is of these sources, and where there are none', () => {
  using checkout = openTree([...SOURCES, ENTRY])
  using installed = openTree([ENTRY])
  checkout.note()

  assert.equal(isBuilt(checkout.root), true)
  assert.equal(isBuilt(installed.root), true)
})

test('a build that does not say what it was made of is not taken', () => {
  using tree = openTree([...SOURCES, ENTRY])

  assert.equal(isBuilt(tree.root), false)
})

test('an edited, an added and a removed source each make it old, and so does another version of a dependency', () => {
  const changes: Readonly<Record<string, (root: string) => void>> = {
    edited: root => writeFileSync(join(root, 'src/lib/clock.ts'), 'other'),
    added: root => writeFileSync(join(root, 'src/lib/more.ts'), ''),
    removed: root => rmSync(join(root, 'src/lib/clock.ts')),
    locked: root => writeFileSync(join(root, 'package-lock.json'), 'other'),
    tooled: root => writeFileSync(join(root, 'bin/build-code.js'), 'other'),
  }
  for (const [what, change] of Object.entries(changes)) {
    using tree = openTree([...SOURCES, ENTRY])
    tree.note()
    change(tree.root)

    assert.equal(isBuilt(tree.root), false, what)
  }
})

test('times say nothing: neither those of an older version that is put back nor those of a copy', () => {
  using older = openTree([...SOURCES, ENTRY])
  older.note()
  writeFileSync(join(older.root, 'src/lib/clock.ts'), 'as it was')
  utimesSync(join(older.root, 'src/lib/clock.ts'), 0, 0)
  using copy = openTree([...SOURCES, ENTRY])
  copy.note()
  const later = Date.now() / 1000 + 60
  utimesSync(join(copy.root, 'src/lib/clock.ts'), later, later)

  assert.deepEqual([isBuilt(older.root), isBuilt(copy.root)], [false, true])
})

// A checkout; `note` writes down what its build was made of.
function openTree(files: readonly string[]) {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
  return {
    root,
    note: () => writeFileSync(join(root, 'dist', MADE_FROM), fingerprint(root)),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  }
}
