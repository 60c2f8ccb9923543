// Adapters across catalog changes: an unchanged provider keeps its connections, a changed one gets new ones, and a late
// request of an old provider affects nobody.
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

test('an unchanged provider in a new catalog has the same adapter, a changed one another', () => {
  const registry = open()
  const [first, same, changed] = [provider(1), provider(1), provider(2)]
  registry.keep([first])
  const adapter = registry.get(first)

  registry.keep([same])
  assert.equal(registry.get(same), adapter)
  registry.keep([changed])
  assert.notEqual(registry.get(changed), adapter)
})

test('a late request of an old provider does not replace the current adapter', () => {
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

test('adapters of removed providers are closed', () => {
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
