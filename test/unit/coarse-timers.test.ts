// Coarse timers fire after their time and not before, again when restarted, and never once cancelled.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/lib/clock.ts'
import { coarseTimers } from '../../src/lib/coarse-timers.ts'
import { manualClock } from '../support/manual-clock.ts'

const fail = (error: unknown) => assert.fail(String(error))
// Longer than the tick, so that every due tick has happened.
const TICKS_MS = 160

test('a timer fires once its time has passed, and not before', async () => {
  const clock = manualClock()
  const rung: string[] = []
  const { set } = coarseTimers(clock, fail)
  set(100, () => rung.push('early'))
  set(200, () => rung.push('late'))

  clock.advance(99)
  await sleep(TICKS_MS)
  const before = [...rung]
  clock.advance(1)
  await sleep(TICKS_MS)
  const between = [...rung]
  clock.advance(100)
  await sleep(TICKS_MS)

  assert.deepEqual([before, between, rung], [[], ['early'], ['early', 'late']])
})

test('a timer that is due when the process goes on is cancelled by what has arrived meanwhile', async t => {
  const server = createServer(socket => void socket.on('data', () => timer.cancel())).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  t.after(() => {
    socket.destroy()
    server.close()
  })
  await sleep(20)
  let rung = 0
  const timer = coarseTimers(systemClock, fail).set(100, () => {
    rung += 1
  })

  await immediate()
  socket.write('x')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  await sleep(TICKS_MS)

  assert.equal(rung, 0)
})

test('a restarted timer waits the whole time again, also when restarted from its callback', async () => {
  const clock = manualClock()
  let rung = 0
  const { set } = coarseTimers(clock, fail)
  const alarm = set(100, () => {
    rung += 1
    alarm.again()
  })

  clock.advance(60)
  alarm.again()
  clock.advance(60)
  await sleep(TICKS_MS)
  assert.equal(rung, 0)
  for (let i = 1; i <= 3; i++) {
    clock.advance(100)
    await sleep(TICKS_MS)
    assert.equal(rung, i)
  }
})

test('a cancelled timer never fires, even if restarted', async () => {
  const clock = manualClock()
  let rung = 0
  const { set } = coarseTimers(clock, fail)
  const before = set(10, () => rung++)
  const after = set(10, () => rung++)
  const other = set(10, () => before.cancel())

  after.cancel()
  after.again()
  before.cancel()
  clock.advance(20)
  await sleep(TICKS_MS)
  other.cancel()
  before.again()
  clock.advance(20)
  await sleep(TICKS_MS)

  assert.equal(rung, 0)
})

test('ten thousand set and cancelled timers leave no tick running', async () => {
  const { set } = coarseTimers(systemClock, fail)
  let rung = 0
  for (let i = 0; i < 10_000; i++) set(1, () => rung++).cancel()
  const kept = Array.from({ length: 100 }, () => set(1, () => rung++))

  await sleep(TICKS_MS)

  assert.equal(rung, kept.length)
})

test('a timer that throws is reported, and the others still fire', async () => {
  const clock = manualClock()
  const told: unknown[] = []
  let rung = 0
  const { set } = coarseTimers(clock, error => told.push(error))
  const broken = new Error('a bug')
  set(10, () => {
    throw broken
  })
  set(10, () => rung++)

  clock.advance(10)
  await sleep(TICKS_MS)

  assert.deepEqual([told, rung], [[broken], 1])
})
