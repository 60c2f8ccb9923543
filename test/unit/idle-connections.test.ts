// Idle connections to an upstream against a plain list: an account gets its own, any account gets a ripe one, and of those that fit
// the one used last.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { idHash } from '../../src/lib/id-hash.ts'
import type { Connection } from '../../src/upstream/connection.ts'
import { idleConnections } from '../../src/upstream/idle-connections.ts'

const OWN_MS = 2
const ANY_MS = 10
const TURNS = 2
// At closed and unread ones.
const LOOKS = 16

test('any sequence of releases and takes gives the result of a plain list', () => {
  const account = fc.constantFrom('a', 'b', 'c')
  const step = fc.oneof(
    fc.record({ do: fc.constant('add' as const), account }),
    fc.record({ do: fc.constant('take' as const), account }),
    fc.record({ do: fc.constant('takeAny' as const) }),
    fc.record({ do: fc.constant('ripen' as const) }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.nat(6) }),
    fc.record({ do: fc.constant('forget' as const), at: fc.nat(10) }),
    fc.record({ do: fc.constant('close' as const), at: fc.nat(10) }),
  )
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 120 }), steps => {
      const idle = idleConnections()
      const list: Connection[] = []
      let [now, turn, ripeUntil] = [100, 0, 0]
      const expected = (fits: (connection: Connection) => boolean, readBy: number) =>
        list
          .filter(fits)
          .slice(-LOOKS)
          .findLast(each => each.readFromTurn <= readBy && !each.transport.isDestroyed())
      const check = (taken: Connection | undefined, wanted: Connection | undefined) => {
        assert.equal(taken, wanted)
        if (wanted !== undefined) list.splice(list.indexOf(wanted), 1)
      }

      for (const one of steps) {
        if (one.do === 'add') {
          const connection = connectionOf(one.account, now, turn + TURNS)
          idle.add(connection)
          list.push(connection)
        } else if (one.do === 'take') {
          const fits = (each: Connection) => each.accountId === one.account && each.idleSinceMs <= now - OWN_MS
          check(idle.take(one.account, now - OWN_MS, turn), expected(fits, turn))
        } else if (one.do === 'takeAny') {
          check(
            idle.takeAny(),
            expected(each => each.idleSinceMs <= ripeUntil, Number.POSITIVE_INFINITY),
          )
        } else if (one.do === 'ripen') {
          ripeUntil = now - ANY_MS
          assert.equal(idle.ripen(ripeUntil), list.find(each => each.idleSinceMs > ripeUntil)?.idleSinceMs)
        } else if (one.do === 'wait') {
          now += one.ms
          turn += 1
        } else {
          const connection = list[one.at]
          if (connection === undefined) continue
          if (one.do === 'close') connection.transport.destroy()
          else {
            idle.forget(connection)
            idle.forget(connection)
            list.splice(one.at, 1)
          }
        }
        assert.deepEqual(idle.all(), list)
        assert.equal(idle.oldest(), list[0])
      }
    }),
  )
})

test('a connection that was taken and released again is found in its new place', () => {
  const idle = idleConnections()
  const [first, second] = [connectionOf('a', 0, 0), connectionOf('b', 1, 0)]
  for (const each of [first, second]) idle.add(each)

  assert.equal(idle.ripen(50), undefined)
  assert.equal(idle.takeAny(), second)
  second.idleSinceMs = 60
  idle.add(second)

  assert.equal(idle.ripen(59), 60)
  assert.equal(idle.takeAny(), first)
  assert.equal(idle.takeAny(), undefined)
  assert.equal(idle.ripen(60), undefined)
  assert.equal(idle.takeAny(), second)
  assert.deepEqual(idle.all(), [])
})

test('an account never gets the connection of another whose id ends alike', () => {
  assert.equal(idHash('x-same-end'), idHash('y-same-end'))
  const idle = idleConnections()
  for (const [at, account] of ['x-same-end', 'y-same-end', 'x-same-end', 'y-same-end'].entries())
    idle.add(connectionOf(account, at, 0))

  const taken = ['y-same-end', 'x-same-end', 'z-same-end', 'x-same-end', 'x-same-end', 'y-same-end'].map(account =>
    idle.take(account, 9, 9),
  )

  assert.deepEqual(
    taken.map(each => each?.idleSinceMs),
    [3, 2, undefined, 0, undefined, 1],
  )
})

function connectionOf(accountId: string, idleSinceMs: number, readFromTurn: number): Connection {
  let isDestroyed = false
  return {
    transport: {
      isDestroyed: () => isDestroyed,
      isDrained: () => true,
      send: () => undefined,
      pause: () => undefined,
      resume: () => undefined,
      destroy: () => {
        isDestroyed = true
      },
    },
    exchange: undefined,
    ready: true,
    answers: 1,
    accountId,
    idleSinceMs,
    readFromTurn,
    idleMs: 20_000,
    timer: undefined,
    timerMs: Number.POSITIVE_INFINITY,
    older: undefined,
    newer: undefined,
  }
}
