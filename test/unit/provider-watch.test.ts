// Providers are reported as unavailable when every breaker of their targets is open, once, and as recovered when one is closed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newBreaker } from '../../src/route/circuit-breaker.ts'
import { watchProviders } from '../../src/route/provider-watch.ts'
import { endedWell, newHealth } from '../../src/route/target-health.ts'
import type { TargetState } from '../../src/route/targets.ts'

function fixture(...names: readonly string[]) {
  const states: TargetState[] = names.map(name => {
    const [provider = '', model = ''] = name.split('/')
    return { key: name, provider, model, health: newHealth(), breaker: newBreaker(), probedAtMs: 0 }
  })
  const told: string[] = []
  const watch = watchProviders(() => ({ states: () => states }), {
    onUnavailable: (provider, targets) => told.push(`${provider} unavailable, ${targets}`),
    onRecovered: provider => told.push(`${provider} recovered`),
  })
  const set = (name: string, state: 'closed' | 'open' | 'half_open') => {
    const found = states.find(({ key }) => key === name)!
    found.breaker.state = state
    watch.check(found.provider)
  }
  return { states, told, watch, set }
}

test('all breakers of a provider, not some, and each crossing once', () => {
  const { told, watch, set } = fixture('a/1', 'a/2', 'b/1')

  set('a/1', 'open')
  set('b/1', 'closed')
  assert.deepEqual(told, [])
  set('a/2', 'open')
  set('a/1', 'half_open')
  set('a/1', 'open')
  watch.checkAll()
  set('a/2', 'closed')
  set('a/1', 'closed')
  watch.checkAll()
  set('a/1', 'open')
  set('a/2', 'open')

  assert.deepEqual(told, ['a unavailable, 2', 'a recovered', 'a unavailable, 2'])
})

test('a provider that an earlier process reported has recovered once a target answers', () => {
  const { told, watch, states } = fixture('a/1')

  watch.resume(['a', 'gone'])
  watch.checkAll()
  assert.deepEqual(told, [], 'a closed breaker says nothing in a process that has just begun')
  endedWell(states[0]!.health, 1)
  watch.checkAll()
  watch.checkAll()

  assert.deepEqual(told, ['a recovered'])
})

test('a provider that left the catalog is forgotten', () => {
  const { told, watch, set, states } = fixture('a/1')

  set('a/1', 'open')
  states.length = 0
  watch.checkAll()
  watch.checkAll()

  assert.deepEqual(told, ['a unavailable, 1'])
})
