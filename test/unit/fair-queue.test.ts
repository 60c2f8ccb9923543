// The fair queue: bounded, fair between owners, and it loses no job.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import fc from 'fast-check'
import { fairQueue, QueueFull } from '../../src/lib/fair-queue.ts'

test('at most the given number of jobs run at once, and all of them complete', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(3), { maxLength: 40, size: 'max' }),
      async (concurrent, owners) => {
        const queue = fairQueue<number>({ concurrent, waitingMax: 100, waitingPerOwnerMax: 100 })
        let running = 0
        let most = 0

        const answers = await Promise.all(
          owners.map((owner, i) =>
            queue.run(`owner-${owner}`, async () => {
              most = Math.max(most, ++running)
              for (let turn = 0; turn < owner; turn++) await Promise.resolve()
              running--
              return i
            }),
          ),
        )

        assert.deepEqual(answers, [...owners.keys()])
        assert.ok(most <= concurrent)
        assert.deepEqual([queue.running, queue.waiting], [0, 0])
      },
    ),
  )
})

test('an owner with one job waits for one job of an owner with many, not for all', async () => {
  const queue = fairQueue<void>({ concurrent: 1, waitingMax: 100, waitingPerOwnerMax: 100 })
  const order: string[] = []
  const job = (name: string) => async () => void order.push(name)

  await Promise.all([
    ...Array.from({ length: 5 }, (_, i) => queue.run('many', job(`many ${i}`))),
    queue.run('one', job('one')),
    queue.run('two', job('two 0')),
    queue.run('two', job('two 1')),
  ])

  assert.deepEqual(order, ['many 0', 'many 1', 'one', 'two 0', 'many 2', 'two 1', 'many 3', 'many 4'])
})

test('an owner whose queue is full is refused while another may still wait', async () => {
  const queue = fairQueue<string>({ concurrent: 1, waitingMax: 3, waitingPerOwnerMax: 2 })
  const { promise: gate, resolve: open } = Promise.withResolvers<string>()
  const first = queue.run('a', () => gate)
  const lined = [queue.run('a', async () => 'a1'), queue.run('a', async () => 'a2')]

  await assert.rejects(
    queue.run('a', async () => 'a3'),
    QueueFull,
  )
  lined.push(queue.run('b', async () => 'b1'))
  await assert.rejects(
    queue.run('c', async () => 'c1'),
    QueueFull,
  )
  open('a0')

  assert.equal(await first, 'a0')
  assert.deepEqual(await Promise.all(lined), ['a1', 'a2', 'b1'])
})

test('a failing job, even before its first await, frees its slot for the next', async () => {
  const queue = fairQueue<string>({ concurrent: 1, waitingMax: 10, waitingPerOwnerMax: 10 })

  const outcomes = await Promise.allSettled([
    queue.run('a', () => Promise.reject(new Error('later'))),
    queue.run('a', () => {
      throw new Error('at once')
    }),
    queue.run('b', async () => 'fine'),
  ])
  await tick()

  assert.deepEqual(
    outcomes.map(outcome => outcome.status),
    ['rejected', 'rejected', 'fulfilled'],
  )
  assert.deepEqual([queue.running, queue.waiting], [0, 0])
})
