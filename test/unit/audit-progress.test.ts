// The progress of an audit, reported at intervals and not for every row.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { watched } from '../../src/store/audit/passes.ts'

test('every row is read, and every thousandth is reported with the total, over all passes', () => {
  const told: (readonly [number, number])[] = []
  let looked = 0
  const pass = { statement: 'SELECT 1', look: () => void looked++ }
  const passes = watched([pass, pass], 2500n, (rows, total) => told.push([rows, total]))

  for (let i = 0; i < 1500; i++) passes[0]?.look({})
  for (let i = 0; i < 1000; i++) passes[1]?.look({})

  assert.equal(looked, 2500)
  assert.deepEqual(told, [
    [1000, 2500],
    [2000, 2500],
  ])
})
