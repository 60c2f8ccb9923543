// When secrets were last used is written in the background: soon after the first use, less often in constant use, and the last use
// is never missing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { billingClient, COMMIT_BOUNDS } from '../../src/store/billing/billing-client.ts'
import type { BillingOp } from '../../src/store/billing/transitions.ts'
import { noUse } from '../../src/store/contract/store.ts'
import { until } from '../support/until.ts'

test('a use is written once, soon, and the uses of many secrets in parts', async () => {
  const { client, written } = open({ usesWrittenEveryMs: 10, useWrittenAgainMs: 60_000 })
  const uses = Array.from({ length: 300 }, (_, i) => noUse(`secret ${i}`))

  for (const use of uses) for (const at of [1000, 3000, 2000]) client.touch(use, at)
  await until('all are written', async () => written.length === 300)

  assert.deepEqual(
    written,
    uses.map(({ hash }) => [hash, 3000]),
  )
})

test('a secret in constant use is written less often, and its last use at the latest by then', async () => {
  const { client, written } = open({ usesWrittenEveryMs: 10, useWrittenAgainMs: 2000 })
  const use = noUse('secret')

  for (let at = 1; at <= 25; at++) {
    client.touch(use, at)
    await setTimeout(4)
  }
  const meanwhile = written.length
  await until('the last use is written', async () => written.at(-1)?.[1] === 25)

  assert.equal(meanwhile, 1)
  assert.equal(written.length, 2)
})

test('what waits is written by a flush', async () => {
  const { client, written } = open({ usesWrittenEveryMs: 60_000, useWrittenAgainMs: 60_000 })
  const use = noUse('secret')

  client.touch(use, 1)
  client.flush()
  client.touch(use, 2)
  client.flush()
  client.flush()
  await client.drained()

  assert.deepEqual(written, [
    ['secret', 1],
    ['secret', 2],
  ])
})

function open(bounds: Pick<typeof COMMIT_BOUNDS, 'usesWrittenEveryMs' | 'useWrittenAgainMs'>) {
  const written: (readonly [string, number])[] = []
  const commit = async (ops: readonly BillingOp[]) =>
    ops.map(op => {
      if (op.do === 'touch') written.push(...op.uses)
      return { ok: true as const, value: null }
    })
  return { client: billingClient(commit, { ...COMMIT_BOUNDS, ...bounds }), written }
}
