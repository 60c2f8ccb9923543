// The import of a price list during running requests: it yields to the event loop.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importMethod } from '../../src/admin/catalog-import.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { provider } from '../support/catalog.ts'
import { ENGINES, OPERATOR, openRepositories } from '../support/engines.ts'

test('a long list is read a few models at a time, and other work runs in between', async () => {
  await using repositories = await openRepositories(ENGINES[0]!.open)
  const one = { provider: provider('acme'), entered: '{}', active: true, credentials: [] }
  await repositories.catalog.createProvider(one, 9, OPERATOR)
  let turn = 0
  const readIn = new Map<number, number>()
  const next = () => {
    turn += 1
    immediate = setImmediate(next)
  }
  let immediate = setImmediate(next)
  const reader = {
    provider: () => assert.fail('no provider is read'),
    model() {
      readIn.set(turn, (readIn.get(turn) ?? 0) + 1)
      throw new Refusal('invalid_value', { message: 'for this test nothing is taken' })
    },
  }
  const needs = {
    catalog: repositories.catalog,
    reader,
    newId: () => 'id',
    providersMax: 9,
    modelsMax: 9,
    clock: repositories.clock,
  }

  const order = { list: 'openrouter', provider: 'acme', context_length: 1000, max_output_tokens: 100 }

  await importMethod({ ...needs, refresh: async () => undefined })(order, OPERATOR)

  clearImmediate(immediate)
  const counts = [...readIn.values()]
  assert.ok(counts.reduce((sum, count) => sum + count, 0) > 100)
  assert.ok(Math.max(...counts) <= 16, String(Math.max(...counts)))
})
