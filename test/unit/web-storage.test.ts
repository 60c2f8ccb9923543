// The pages work where the browser refuses storage, or has no room left.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { store, stored } from '../../web/src/api/storage.ts'

test('a value is stored and removed', t => {
  const kept = new Map<string, string>()
  replaceStorage(t, () => ({
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  }))

  store('zone', 'UTC')
  assert.equal(stored('zone'), 'UTC')
  store('zone', null)
  assert.equal(stored('zone'), null)
})

test('refused storage reads as empty, and storing does not fail', t => {
  replaceStorage(t, () => {
    throw new Error('refused')
  })

  store('zone', 'UTC')
  store('zone', null)
  assert.equal(stored('zone'), null)
})

function replaceStorage(t: { after(end: () => void): void }, get: () => unknown): void {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get })
  t.after(() => {
    if (before === undefined) Reflect.deleteProperty(globalThis, 'localStorage')
    else Object.defineProperty(globalThis, 'localStorage', before)
  })
}
