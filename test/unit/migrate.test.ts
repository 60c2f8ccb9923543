// A database of an earlier version is brought to the newest schema with everything that it holds.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { APPLICATION_ID, migrate } from '../../src/store/migrate.ts'

const GROUND = new URL('../../src/store/migrations/0001-ground.sql', import.meta.url)

test('a catalog of the first schema is kept, first in its version, and of nobody but the file', () => {
  const db = new DatabaseSync(':memory:')
  db.exec(readFileSync(GROUND, 'utf8'))
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`)
  db.exec(`INSERT INTO provider (id, spec, provisioned, active) VALUES ('up', '{"kind":"openai"}', 1, 1)`)
  db.exec(`INSERT INTO model (id, spec, price, price_version, created_at, provisioned, active)
           VALUES ('m', '{}', '{}', 'v1', 7, 1, 1)`)

  migrate(db)
  migrate(db)

  const provider = { ...db.prepare('SELECT id, spec, version, entered FROM provider').get() }
  assert.deepEqual(provider, { id: 'up', spec: '{"kind":"openai"}', version: 1, entered: null })
  assert.deepEqual(
    { ...db.prepare('SELECT price_version, version, entered FROM model').get() },
    {
      price_version: 'v1',
      version: 1,
      entered: null,
    },
  )
  assert.deepEqual(db.prepare('SELECT * FROM credential').all(), [])
  assert.ok(Number(db.prepare('PRAGMA user_version').get()?.user_version) >= 2)
})
