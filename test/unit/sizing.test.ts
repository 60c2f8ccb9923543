// The sizing table of the documentation equals the script's output, and its arithmetic is plausible.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { INPUTS } from '../../bench/sizing-inputs.ts'
import { sizeFor, sizingTable, withTables } from '../../bench/sizing-table.ts'

const document = readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')

test("the document has the script's table and inputs", () => {
  assert.ok(document.includes(sizingTable(INPUTS)))
  assert.equal(withTables(document, INPUTS), document, 'npm run sizing -- --write')
  assert.notEqual(withTables(document, { ...INPUTS, redisCpuUs: 1 }), document)
})

test('ten times the requests are ten times the work, with at least two nodes', () => {
  const small = sizeFor(1, INPUTS)
  const large = sizeFor(50_000, INPUTS)
  const larger = sizeFor(500_000, INPUTS)

  assert.equal(small.nodes, 2)
  assert.equal(small.postgresTransactionsPerSecond, 2)
  assert.equal(large.nodes, Math.ceil((50_000 * INPUTS.nodeCpuUs) / 1e6 / INPUTS.utilisation))
  assert.ok(Math.abs(larger.diskBytesPerDay / large.diskBytesPerDay - 10) < 1e-9)
  assert.ok(larger.postgresTransactionsPerSecond < 2 * 500_000)
})

test('the resource closest to its limit is named', () => {
  const slowDisk = { ...INPUTS, postgres: { ...INPUTS.postgres, walBytes: 2500 }, postgresWalBytesMax: 1e6 }
  const manyScripts = { ...INPUTS, redisCpuUs: 1000 }

  assert.match(sizeFor(1000, slowDisk).first, /^Postgres log, 250 %$/)
  assert.match(sizeFor(1000, manyScripts).first, /^Redis, 167 %$/)
})
