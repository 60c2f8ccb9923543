// Group commit: which operations share a batch, and what happens when a batch fails.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type BatchResult, groupCommit } from '../../src/store/billing/group-commit.ts'

const BOUNDS = { batchMax: 4, waitingMax: 6 }

// Commits on command, and records which operations came together.
function fixture() {
  const batches: (readonly string[])[] = []
  const running: { resolve(results: readonly BatchResult<string>[]): void; reject(error: Error): void }[] = []
  const commits = groupCommit<string, string>(
    ops => {
      batches.push(ops)
      const { promise, resolve, reject } = Promise.withResolvers<readonly BatchResult<string>[]>()
      running.push({ resolve, reject })
      return promise
    },
    BOUNDS,
    () => new Error('full'),
  )
  const answerLast = () => running.at(-1)?.resolve(batches.at(-1)?.map(op => ({ ok: true, value: op })) ?? [])
  return { commits, batches, running, answerLast }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

test('a single operation is committed within the tick, and so is the next one', async () => {
  const { commits, batches, answerLast } = fixture()
  const first = commits.submit('a')
  await turns(1)
  assert.deepEqual(batches, [['a']])
  answerLast()
  assert.equal(await first, 'a')
  const second = commits.submit('b')
  await turns(1)
  assert.deepEqual(batches, [['a'], ['b']])
  answerLast()
  assert.equal(await second, 'b')
})

test('operations of one tick share a batch, and those that arrive while it runs share the next', async () => {
  const { commits, batches, answerLast } = fixture()
  const first = [commits.submit('a'), commits.submit('b')]
  await turns(1)
  const second = [commits.submit('c'), commits.submit('d')]
  await turns(5)
  assert.deepEqual(batches, [['a', 'b']])
  answerLast()
  assert.deepEqual(await Promise.all(first), ['a', 'b'])
  await turns(2)
  assert.deepEqual(batches, [
    ['a', 'b'],
    ['c', 'd'],
  ])
  answerLast()
  assert.deepEqual(await Promise.all(second), ['c', 'd'])
})

test('if several shared the last batch, one that arrives a tick later still joins the next', async () => {
  const { commits, batches, answerLast } = fixture()
  const first = [commits.submit('a'), commits.submit('b')]
  await turns(1)
  const waiting = commits.submit('c')
  answerLast()
  await Promise.all(first)
  await turns(1)
  const late = commits.submit('d')
  await turns(1)
  assert.deepEqual(batches.at(-1), ['c', 'd'])
  answerLast()
  assert.deepEqual(await Promise.all([waiting, late]), ['c', 'd'])
})

test('a batch and its queue are bounded', async () => {
  const { commits, batches, answerLast } = fixture()
  const submitted = ['a', 'b', 'c', 'd', 'e', 'f'].map(commits.submit)
  await assert.rejects(commits.submit('g'), /full/)
  await turns(1)
  assert.deepEqual(batches, [['a', 'b', 'c', 'd']])
  answerLast()
  await turns(3)
  assert.deepEqual(batches.at(-1), ['e', 'f'])
  answerLast()
  assert.equal((await Promise.all(submitted)).length, 6)
})

test('a failing operation fails alone; a failing batch fails for all; and the next one continues', async () => {
  const { commits, running } = fixture()
  const first = [commits.submit('a'), commits.submit('b'), commits.submit('c')]
  await turns(1)
  running[0]?.resolve([
    { ok: true, value: 'A' },
    { ok: false, error: new Error('odd byte') },
  ])
  const [a, b, c] = await Promise.allSettled(first)
  assert.deepEqual(a, { status: 'fulfilled', value: 'A' })
  assert.match(String(b?.status === 'rejected' && b.reason), /odd byte/)
  assert.match(String(c?.status === 'rejected' && c.reason), /no result/)

  const second = [commits.submit('d'), commits.submit('e')]
  await turns(2)
  running[1]?.reject(new Error('away'))
  for (const { status } of await Promise.allSettled(second)) assert.equal(status, 'rejected')

  const third = commits.submit('f')
  await turns(2)
  running[2]?.resolve([{ ok: true, value: 'F' }])
  assert.equal(await third, 'F')
})

test('drained resolves once everything is answered, and at once if nothing is in progress', async () => {
  const { commits, answerLast } = fixture()
  await commits.drained()
  const submitted = [commits.submit('a'), commits.submit('b')]
  let drained = false
  const waiting = commits.drained().then(() => {
    drained = true
  })
  await turns(3)
  assert.equal(drained, false)
  answerLast()
  await Promise.all(submitted)
  await waiting
})

test('an operation that waited too long fails, is not started, and is undone if it was done anyway', async () => {
  const late: string[] = []
  const running: ((results: readonly BatchResult<string>[]) => void)[] = []
  const batches: (readonly string[])[] = []
  const commits = groupCommit<string, string>(
    ops => {
      batches.push(ops)
      return new Promise(resolve => running.push(resolve))
    },
    BOUNDS,
    () => new Error('full'),
    {
      waitMsMax: 500,
      isBounded: op => op.startsWith('gate'),
      error: () => new Error('too late'),
      onLate: (op, result) => late.push(`${op} ${result}`),
    },
  )
  const settled = commits.submit('settle')
  const [first, failing] = ['gate-a', 'gate-b'].map(op => assert.rejects(commits.submit(op), /too late/))
  await turns(1)
  const behind = assert.rejects(commits.submit('gate-c'), /too late/)
  const patient = commits.submit('mark')

  await Promise.all([first, failing, behind])
  running[0]?.([
    { ok: true, value: 'done' },
    { ok: true, value: 'granted' },
    { ok: false, error: new Error('odd byte') },
  ])
  await settled
  await turns(3)
  running[1]?.([{ ok: true, value: 'marked' }])

  assert.deepEqual([await settled, await patient], ['done', 'marked'])
  assert.deepEqual(batches, [['settle', 'gate-a', 'gate-b'], ['mark']])
  assert.deepEqual(late, ['gate-a granted'])
})

test('a response after a long pause of the process is late, whether or not its timer fired', async () => {
  const late: string[] = []
  const commits = groupCommit<string, string>(
    async ops => {
      const until = performance.now() + 600
      while (performance.now() < until);
      return ops.map(() => ({ ok: true, value: 'granted' }))
    },
    BOUNDS,
    () => new Error('full'),
    {
      waitMsMax: 500,
      isBounded: () => true,
      error: () => new Error('too late'),
      onLate: op => late.push(op),
    },
  )

  await assert.rejects(commits.submit('gate'), /too late/)
  await commits.drained()

  assert.deepEqual(late, ['gate'])
})
