// Reports that no sums help with, on every engine: the most expensive requests, and sums of failures by their code. Each equals a
// direct computation, reads a bounded number of rows, and says so where there are more.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedStore } from '../../../bench/seed-store.ts'
import { type ReportNeeds, reportMethods } from '../../../src/admin/reports.ts'
import { DAY_MS } from '../../../src/domain/key.ts'
import { HOUR_MS, type UsageRow } from '../../../src/domain/usage.ts'
import { type RowSpan, SUMMARY_GROUPS, type UsageReports } from '../../../src/store/contract/operator.ts'
import { sqlUsage } from '../../../src/store/sql/usage/usage.ts'
import { ENGINES, openRepositories, type Repositories } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { allRows, byGroup, fits, rollAll, sumUp } from '../../support/usage-hours.ts'
import { watchedReads } from '../../support/watched-reads.ts'

const ROWS = 5_000
const UNTIL = Date.UTC(2026, 5, 20, 11)
const ago = (days: number) => UNTIL - days * DAY_MS

const FILTERS: readonly RowSpan[] = [
  {},
  { keyId: 'key_seed0003' },
  { accountId: 'acct_seed0004' },
  { model: 'cedar/short', from: ago(20.2), to: ago(1.3) },
  { outcome: 'client_left' },
  { endpoint: 'all', accountId: 'acct_seed0001', from: ago(9) },
  { errorCodes: ['all_providers_failed'] },
]
const CODES = ['insufficient_credits', 'rate_limit_exceeded', 'all_providers_failed', 'model_not_found']
const FAILURES: readonly RowSpan[] = [
  { errorCodes: CODES },
  ...CODES.map(code => ({ errorCodes: [code], from: ago(20.2), to: ago(0.1) })),
  { errorCodes: CODES, accountId: 'acct_seed0001' },
  { errorCodes: CODES, keyId: 'key_seed0001', outcome: 'refused' },
  { errorCodes: ['headers_too_large'] },
]

for (const { engine, open } of ENGINES) {
  test(`${engine}: requests by cost and failures by code equal their rows`, async t => {
    await using repositories = await openRepositories(open, manualClock(UNTIL))
    await seedStore(repositories.sql, { rows: ROWS, days: 30, until: UNTIL, seed: 11 }, () => {})
    const rows = await allRows(repositories)
    await rollAll(repositories, 3 * HOUR_MS)

    await t.test('every matching row is listed once, the most expensive first, page by page', async () => {
      for (const filter of FILTERS) {
        const wanted = rows.filter(row => fits(row, filter)).sort(byCost)
        assert.deepEqual(
          (await pages(repositories, filter, 173)).slice(0, 500),
          wanted.map(row => row.requestId).slice(0, 500),
          JSON.stringify(filter),
        )
      }
    })

    await t.test('failures are summed by every group', async () => {
      for (const filter of FAILURES) {
        const fitting = rows.filter(row => fits(row, filter))
        for (const group of SUMMARY_GROUPS) {
          const found = await repositories.usage.summaryOfRows(filter, group, ROWS)
          assert.ok(found !== 'too_many')
          assert.deepEqual(byGroup(found), byGroup(sumUp(fitting, group)), `${group} ${JSON.stringify(filter)}`)
        }
      }
    })

    await t.test('a range with more rows than may be read is refused, for its owner alone', async () => {
      const { usage } = repositories
      const ofKey = rows.filter(row => row.keyId === 'key_seed0003').length
      const page = { limit: 10, endpoint: 'all' } as const
      const refused = (owner: object, max: number) =>
        Promise.all([
          usage.listByCost({ ...page, ...owner }, max).then(found => found === 'too_many'),
          usage.summaryOfRows({ ...owner, errorCodes: CODES }, 'day', max).then(found => found === 'too_many'),
        ])

      assert.deepEqual(await refused({}, ROWS), [false, false])
      assert.deepEqual(await refused({}, ROWS - 1), [true, true])
      assert.deepEqual(await refused({ keyId: 'key_seed0003' }, ofKey), [false, false])
      assert.deepEqual(await refused({ keyId: 'key_seed0003' }, ofKey - 1), [true, true])
      const ofAccount = rows.filter(row => row.accountId === 'acct_seed0004').length
      assert.deepEqual(await refused({ accountId: 'acct_seed0004' }, ofAccount), [false, false])
      assert.deepEqual(await refused({ accountId: 'acct_seed0004' }, ofAccount - 1), [true, true])
    })

    await t.test('a page after a row that is gone is refused', async () => {
      const after = '019a91b2-6c1e-7d33-8f00-3a5be0c4d2f1'
      assert.equal(await repositories.usage.listByCost({ limit: 10, after }, ROWS), 'unknown_after')
    })

    await t.test('a page begins where the last one ended, though its last row is gone or costs more', async () => {
      const { usage, sql } = repositories
      const page = { limit: 5, accountId: 'acct_seed0004' }
      const wanted = rows.filter(row => fits(row, page)).sort(byCost)
      const first = await usage.listByCost(page, ROWS)
      assert.ok(typeof first === 'object' && first.hasMore)
      const last = wanted[4]?.requestId ?? ''

      const second = async () => usage.listByCost({ ...page, after: first.next ?? undefined }, ROWS)
      await sql.run('UPDATE usage SET cost = cost + 1000000000 WHERE request_id = $1', [last])
      const moved = await second()
      await sql.run('DELETE FROM usage WHERE request_id = $1', [last])
      const gone = await second()

      for (const found of [moved, gone]) {
        assert.ok(typeof found === 'object')
        assert.deepEqual(
          found.data.map(row => row.requestId),
          wanted.slice(5, 10).map(row => row.requestId),
        )
      }
      assert.equal(await usage.listByCost({ ...page, after: `${last}~!` }, ROWS), 'unknown_after')
    })

    await t.test(
      'an export by cost sorts once, lists no row twice and leaves out what is deleted meanwhile',
      async () => {
        const { usage, sql } = repositories
        const wanted = (await allRows(repositories)).filter(row => fits(row, {})).sort(byCost)
        let sorts = 0
        const watched: UsageReports = {
          ...usage,
          idsByCost(filter, max) {
            sorts++
            return usage.idsByCost(filter, max)
          },
        }
        const methods = reportMethods({ usage: watched, reportRowsMax: ROWS } as unknown as ReportNeeds)
        const read = methods.usagePages({ sort: 'cost' })
        const found: string[] = []
        let page = await read({ limit: 100 })
        const deleted = wanted.slice(100, 250).map(row => row.requestId)
        for (const id of deleted) await sql.run('DELETE FROM usage WHERE request_id = $1', [id])
        for (; ; page = await read({ limit: 100 })) {
          found.push(...page.data.map(row => row.request_id))
          if (!page.has_more) break
        }

        assert.deepEqual(
          found,
          wanted.map(row => row.requestId).filter(id => !deleted.includes(id)),
        )
        assert.equal(sorts, 1)
      },
    )

    if (engine !== 'sqlite') return
    await t.test('no more is read than the range, or the rows of the key or account', async () => {
      const { watched, texts } = watchedReads(repositories.sql)
      const usage = sqlUsage(watched)
      for (const owner of [{ from: ago(3) }, { keyId: 'key_seed0003' }, { accountId: 'acct_seed0004' }]) {
        await usage.listByCost({ limit: 10, ...owner }, ROWS)
        await usage.summaryOfRows({ ...owner, errorCodes: CODES }, 'account', ROWS)
      }

      for (const [text, params] of texts) {
        const plan = await repositories.sql.all(`EXPLAIN QUERY PLAN ${text}`, params as [])
        const steps = plan.map(row => String(row.detail)).filter(step => /\busage(_by_key|_recent)?\b/.test(step))
        for (const step of steps) assert.match(step, /^SEARCH usage(_by_key|_recent)? USING |^SCAN usage_recent/, text)
      }
      assert.ok(texts.size >= 9)
    })
  })
}

async function pages({ usage }: Repositories, filter: RowSpan, limit: number): Promise<readonly string[]> {
  const found: string[] = []
  for (let after: string | undefined, more = true; more && found.length < 500; ) {
    const page = await usage.listByCost({ ...filter, limit, after }, ROWS)
    if (typeof page === 'string') throw new Error(page)
    found.push(...page.data.map(row => row.requestId))
    after = page.data.at(-1)?.requestId
    more = page.hasMore
  }
  return found
}

function byCost(a: UsageRow, b: UsageRow): number {
  if (a.cost !== b.cost) return a.cost > b.cost ? -1 : 1
  return a.requestId > b.requestId ? -1 : 1
}
