// Adapters over changes of the catalog: the same provider keeps its connections, another one gets its own, and whoever
// comes late with a provider of the past disturbs nobody.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BOUNDS, TIMEOUTS } from '../../src/config/limits.ts'
import { NO_QUIRKS, type Provider } from '../../src/domain/catalog.ts'
import { connectionLimit } from '../../src/upstream/connection-limit.ts'
import { largeAnswers } from '../../src/upstream/large-answers.ts'
import { adapterRegistry } from '../../src/upstream/registry.ts'
import { answerMemory } from '../../src/upstream/response-memory.ts'
import { manualClock } from '../support/manual-clock.ts'

const memory = answerMemory({ bytesMax: 1, bytesMaxPerAccount: 1 })
const large = largeAnswers(BOUNDS)
const onBug = (error: unknown) => assert.fail(String(error))
const network = { fastPath: true, proxies: { http: undefined, https: undefined, exempt: [] } }
const open = () =>
  adapterRegistry(BOUNDS, { clock: manualClock(), onBug, memory, large, limit: connectionLimit(100), network })

test('the same provider in another catalog has the same adapter, a changed one another', () => {
  const registry = open()
  const [first, same, changed] = [provider(1), provider(1), provider(2)]
  registry.keep([first])
  const adapter = registry.get(first)

  registry.keep([same])
  assert.equal(registry.get(same), adapter)
  registry.keep([changed])
  assert.notEqual(registry.get(changed), adapter)
})

test('a provider of the past that comes late takes nothing from the present one', () => {
  const registry = open()
  const [past, present] = [provider(1), provider(2)]
  registry.keep([past])
  registry.keep([present])
  const adapter = registry.get(present)

  const late = registry.get(past)

  assert.notEqual(late, adapter)
  assert.equal(registry.get(present), adapter)
  registry.keep([{ ...present }])
  assert.equal(registry.get({ ...present }), adapter)
})

test('what the catalog no longer names is let go', () => {
  const registry = open()
  const gone = provider(1)
  registry.keep([gone])
  const adapter = registry.get(gone)

  registry.keep([])
  registry.keep([provider(1)])

  assert.notEqual(registry.get(provider(1)), adapter)
})

function provider(idleMs: number): Provider {
  return {
    id: 'up',
    kind: 'openai',
    baseUrl: 'http://127.0.0.1:1/v1',
    passthrough: [],
    maxTokensField: 'max_tokens',
    timeouts: { ...TIMEOUTS, idleMs },
    quirks: NO_QUIRKS,
    settings: {},
  }
}
