// The decision records: listed in their index, linked from the code that they are about, and consistent with the tree.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '../..')
const RECORDS = globSync('docs/decisions/*.md', { cwd: ROOT }).filter(path => !path.endsWith('README.md'))
const SOURCES = globSync('{src,web/src,bench,bin}/**/*.{ts,tsx,js}', { cwd: ROOT })

function text(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

test('every record is in the index, dated, and linked from the code', () => {
  const index = text('docs/decisions/README.md')
  const code = SOURCES.map(text).join('\n')

  assert.ok(RECORDS.length >= 15, `${RECORDS.length} records`)
  for (const record of RECORDS) {
    assert.ok(index.includes(`(${record.slice('docs/decisions/'.length)})`), `${record} is not in the index`)
    assert.match(text(record), /^# .+\n\nDate: \d{4}-\d{2}-\d{2}/, record)
    assert.ok(code.includes(record), `no source file links to ${record}`)
  }
})

test('every record that a source file names exists', () => {
  for (const source of SOURCES) {
    for (const [name] of text(source).matchAll(/\bdocs\/[\w/-]+\.md\b/g)) {
      assert.ok(existsSync(join(ROOT, name)), `${source} names ${name}`)
    }
  }
})

test('every source file that a record names exists', () => {
  for (const record of [...RECORDS, 'docs/performance.md']) {
    for (const [, path = ''] of text(record).matchAll(/`((?:src|bench|test|bin|deploy)\/[\w./-]+)`/g)) {
      assert.ok(existsSync(join(ROOT, path)), `${record} names ${path}`)
    }
  }
})
