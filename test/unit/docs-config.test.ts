// The configuration files printed in the docs are valid.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { BadConfig } from '../../src/config/bad-config.ts'
import { loadConfig } from '../../src/config/config.ts'
import { temporaryFolder } from '../support/folder.ts'

const DOCS = join(import.meta.dirname, '../../docs')

// A snippet that begins with its providers is a complete file; others are parts of one.
const FILES = readdirSync(DOCS)
  .filter(name => name.endsWith('.md'))
  .flatMap(name =>
    [
      ...readFileSync(join(DOCS, name), 'utf8').matchAll(/^```yaml\n((?:# turnpike\.yaml\n)?providers:[\s\S]*?)^```/gm),
    ].map(([, text = '']) => ({ name, text })),
  )

test('every configuration file in the docs is accepted', async () => {
  await using folder = await temporaryFolder()
  assert.ok(FILES.length >= 4, `${FILES.length} files`)
  for (const { name, text } of FILES) {
    const file = join(folder.path, 'turnpike.yaml')
    writeFileSync(file, text)
    const variables = [...text.matchAll(/\$\{(\w+)\}/g)].map(([, variable = '']) => [variable, 'secret'])

    const read = () => loadConfig({ ...Object.fromEntries(variables), TURNPIKE_CONFIG: file }, folder.path)

    assert.doesNotThrow(read, name)
  }
})

test('a file with a mistake is not', async () => {
  await using folder = await temporaryFolder()
  const file = join(folder.path, 'turnpike.yaml')
  writeFileSync(file, 'providers:\n  - { id: a, kind: unknown }\n')

  assert.throws(() => loadConfig({ TURNPIKE_CONFIG: file }, folder.path), BadConfig)
})
