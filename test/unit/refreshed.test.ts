// A value read in the background: at most once per interval, never waited for longer than allowed, and dropped when too old.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { refreshed } from '../../src/lib/refreshed.ts'

function fixture(read: () => Promise<number>) {
  const state = { now: 0, errors: 0 }
  const value = refreshed({
    read,
    everyMs: 1000,
    waitMsMax: 20,
    keptMs: 5000,
    clock: { monotonic: () => state.now },
    onError: () => {
      state.errors += 1
    },
  })
  return { ...value, state }
}

test('the first reader waits for the value, and others within the interval cause no read', async () => {
  let reads = 0
  const { get, state } = fixture(async () => ++reads)

  const together = await Promise.all([get(), get(), get()])
  state.now = 999
  const later = await get()

  assert.deepEqual([together, later, reads], [[1, 1, 1], 1, 1])
})

test('after the interval the known value is returned at once while the next one is read', async () => {
  let reads = 0
  const { get, state } = fixture(async () => ++reads)
  await get()
  state.now = 1500

  const first = await get()
  const second = await get()

  assert.deepEqual([first, second, reads], [1, 2, 2])
})

test('a value older than two intervals is waited for, at most as long as allowed', async () => {
  const { promise: never } = Promise.withResolvers<number>()
  let reads = 0
  const { get, state } = fixture(async () => (++reads === 1 ? 1 : never))
  await get()
  state.now = 3000

  const started = performance.now()
  const value = await get()

  assert.equal(value, 1)
  assert.ok(performance.now() - started >= 15)
  assert.deepEqual([await get(), reads], [1, 2])
})

test('a read that took long is repeated after twenty times that time', async () => {
  let reads = 0
  const { get, state } = fixture(async () => {
    state.now += 200
    return ++reads
  })
  await get()

  state.now = 3900
  await get()
  assert.equal(reads, 1)

  state.now = 4000
  await get()
  assert.equal(reads, 2)
})

test('when reads fail the last value is shown until it is too old, and reads are not repeated at once', async () => {
  let reads = 0
  const { get, state } = fixture(async () => {
    if (++reads > 1) throw new Error('unavailable')
    return reads
  })
  await get()

  state.now = 4000
  assert.deepEqual([await get(), await get(), reads], [1, 1, 2])
  state.now = 5001
  assert.equal(await get(), undefined)
  await sleep(0)
  assert.deepEqual([reads, state.errors], [3, 2])
})
