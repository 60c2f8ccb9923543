// A row that was recovered while its request still ran is settled late: whatever price its checkpoint named, it gets
// the price of the model that served in the end, so that its cost can be recomputed from the row alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Model, priceSnapshot, readPriceSnapshot } from '../../../src/domain/catalog.ts'
import { costOf, type Prices } from '../../../src/domain/credits.ts'
import type { Delivery } from '../../../src/domain/handoff.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { keepCheckpoints } from '../../../src/settle/checkpoint.ts'
import { type Held, settle } from '../../../src/settle/settle.ts'
import type { BillingStore } from '../../../src/store/contract/store.ts'
import { bill, GATE_ENGINES, openFixture, PRICES } from '../../support/billing-stores.ts'

const PRICIER = { prompt: 3000n, completion: 4000n, cacheRead: 3000n, cacheWrite: 3000n, request: 5000n }
const FIRST = modelOf('m', 'v1', PRICES)
const FALLBACK = modelOf('pricier', 'v2', PRICIER)
// They end in distinct digits, as real ones do: the paused owner still has the row in memory as open.
const ID = 'row-0001'

for (const { engine, make } of GATE_ENGINES) {
  for (const [what, marked, served] of [
    ['the first model served, after a checkpoint of the fallback', FALLBACK, FIRST],
    ['the fallback served, after a checkpoint of the first model', FIRST, FALLBACK],
    ['the fallback served, after a checkpoint of its own', FALLBACK, FALLBACK],
    ['the fallback served, without a checkpoint', undefined, FALLBACK],
  ] as const) {
    for (const recoveredBy of ['another process', 'the batch that settles it'] as const) {
      test(`${engine}: a row recovered by ${recoveredBy} has the price of the model that served: ${what}`, async () => {
        await using fixture = await openFixture(make, 1000n)
        const { billing, usage } = fixture.store
        await fixture.tamper(
          `INSERT INTO price (model_id, version, price, created_at) VALUES ('pricier', 'v2', '${priceSnapshot(PRICIER)}', 1)`,
        )
        await billing.reserve(fixture.ask(ID))
        const held = heldRow()
        if (marked !== undefined) markOnce(held, marked, billing)
        // Written in the background: a later awaited write is committed with it or after it.
        await billing.settle(bill('nobody', {}))
        const odd: string[] = []

        if (recoveredBy === 'another process') await (await fixture.another()).billing.sweep([])
        const swept = recoveredBy === 'another process' ? undefined : billing.sweep([])
        const ending = settle(held, delivered(served), () => undefined, settleNeeds(billing, odd))
        await swept
        await ending

        assert.deepEqual(odd, ['corrected'])
        const row = await usage.get(ID)
        assert.ok(row?.price)
        assert.deepEqual(
          [row.state, row.modelServed, row.priceVersion, row.price],
          ['settled', served.id, served.priceVersion, priceSnapshot(served.prices)],
        )
        assert.equal(costOf(row.tokens, readPriceSnapshot(row.price)), row.cost)
        assert.equal((await fixture.balance()).spent, row.cost)
      })
    }
  }
}

function modelOf(id: string, priceVersion: string, prices: Prices): Model {
  const bounds = { contextLength: 1000, maxOutputTokens: 500, mediaMaxTokens: 0, hiddenReasoning: false }
  return { id, priceVersion, prices, ...bounds } as Model
}

function heldRow(): Held {
  return {
    requestId: ID,
    accountId: 'acct',
    chat: { n: 1, stream: true, promptBytes: 20, media: [], reasoning: { hides: false, asks: false } } as never,
    models: [FIRST, FALLBACK],
    hold: 100n,
    capTokens: 50,
    settled: false,
    pricedOtherwise: false,
    forget: () => undefined,
  }
}

// The one checkpoint that was written before the row was recovered.
function markOnce(held: Held, model: Model, billing: BillingStore): void {
  const rings: (() => void)[] = []
  const timers = {
    set(_ms: number, ring: () => void) {
      rings.push(ring)
      return { again: () => undefined, cancel: () => undefined }
    },
  }
  const seen = { usage: undefined, output: () => ({ any: true, texts: ['four'], bytesBeyond: 0 }) }
  const progress = () => ({ provider: 'up', model, at: Date.now() })
  keepCheckpoints(held, seen, progress, { billing, timers, checkpointFirstMs: 1, checkpointEveryMs: 1 })
  rings[0]?.()
}

function delivered(model: Model): Delivery {
  const stream = { upstreamId: () => null } as never
  return {
    answer: {
      model,
      attempts: [],
      considered: [],
      served: { provider: 'up', cost: undefined, ignored: [], stream, listen: () => undefined },
      failures: [],
      dispatchedAt: Date.now(),
    },
    outcome: 'completed',
    failure: undefined,
    finishReason: 'stop',
    usage: { prompt_tokens: 10, completion_tokens: 20 },
    output: { any: true, texts: ['four'], bytesBeyond: 0 },
    firstByteAt: Date.now(),
    headersLeft: true,
  }
}

function settleNeeds(billing: BillingStore, odd: string[]) {
  return {
    billing,
    counter: { count: () => assert.fail('nothing is estimated') },
    clock: systemClock,
    settleWaitMs: 60_000,
    timers: { set: () => ({ again: () => undefined, cancel: () => undefined }) },
    pauses: { rest: () => assert.fail('nothing fails') },
    onClamped: () => assert.fail('nothing is clamped'),
    onLate: (_id: string, error: unknown) => assert.fail(String(error)),
    onOddlySettled: (_id: string, settled: string) => void odd.push(settled),
  }
}
