// Reports over a realistic amount of usage, on every engine: each equals a direct computation over all rows, from sums
// and from rows, and no list reads the whole table.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedStore } from '../../../bench/seed-store.ts'
import { DAY_MS } from '../../../src/domain/key.ts'
import { HOUR_MS, type UsageRow } from '../../../src/domain/usage.ts'
import { zoneOffsets } from '../../../src/domain/zone-offsets.ts'
import {
  type Spending,
  SUMMARY_GROUPS,
  type SummaryGroup,
  type UsageSpan,
} from '../../../src/store/contract/operator.ts'
import type { Sql } from '../../../src/store/sql/sql.ts'
import { sqlUsage } from '../../../src/store/sql/usage/usage.ts'
import { ENGINES, openRepositories, type Repositories } from '../../support/engines.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { allRows, byGroup, fits, rollAll, sumUp } from '../../support/usage-hours.ts'
import { watchedReads } from '../../support/watched-reads.ts'

const ROWS = 10_000
const UNTIL = Date.UTC(2026, 5, 20, 11)
const DAYS = 40
const ago = (days: number) => UNTIL - days * DAY_MS

const FILTERS: readonly UsageSpan[] = [
  {},
  { keyId: 'key_seed0003' },
  { accountId: 'acct_seed0004' },
  { model: 'cedar/short' },
  { model: 'nobody/77' },
  { provider: 'spare' },
  { provider: 'bolt' },
  { endpoint: 'all' },
  { endpoint: 'key.introspect' },
  { endpoint: 'usage' },
  { outcome: 'recovered' },
  { outcome: 'client_left' },
  { outcome: 'failed' },
  { outcome: 'failed', accountId: 'acct_seed0001', from: ago(20.2), to: ago(1.3) },
  { outcome: 'failed', cause: 'money' },
  { cause: 'money' },
  { cause: 'provider', from: ago(20.2), to: ago(1.3) },
  { cause: 'caller', accountId: 'acct_seed0001' },
  { cause: 'caller' },
  { cause: 'provider' },
  { cause: 'provider', keyId: 'key_seed0000', outcome: 'upstream_broke' },
  { from: ago(20.2), to: ago(9.9) },
  { from: ago(3), to: ago(2) },
  { keyId: 'key_seed0001', model: 'acme/small', outcome: 'client_left' },
  { accountId: 'acct_seed0001', provider: 'acme', outcome: 'recovered', from: ago(33) },
  { keyId: 'key_seed0001', accountId: 'acct_seed0002' },
]

for (const { engine, open } of ENGINES) {
  test(`${engine}: reports over ${ROWS} rows equal those of the rows, before and after the roll-up`, async t => {
    const clock = manualClock(UNTIL)
    await using repositories = await openRepositories(open, clock)
    await seedStore(repositories.sql, { rows: ROWS, days: DAYS, until: UNTIL, seed: 7 }, () => {})
    await breakStreams(repositories.sql)
    const rows = await allRows(repositories)
    assert.equal(rows.length, ROWS)

    await t.test('from rows alone', () => assertSummaries(repositories, rows, FILTERS.slice(0, 3)))
    // All but the last hours, so that every report combines days, hours and rows.
    await rollAll(repositories, 3 * HOUR_MS)
    await t.test('from sums', () => assertSummaries(repositories, rows, FILTERS))

    await t.test('a list returns every matching row, page by page', async () => {
      const byCode = [
        { errorCodes: ['insufficient_credits'] },
        { errorCodes: ['rate_limit_exceeded', 'all_providers_failed', 'internal_error'], from: ago(20.2) },
        { errorCodes: ['headers_too_large'] },
      ]
      for (const filter of [...FILTERS, ...byCode]) {
        const wanted = rows.filter(row => fits(row, filter)).map(row => row.requestId)
        const found = []
        for (let after: string | undefined, more = true; more && found.length < 700; ) {
          const page = await repositories.usage.list({ ...filter, limit: 233, after })
          found.push(...page.data.map(row => row.requestId))
          after = page.data.at(-1)?.requestId
          more = page.hasMore
        }
        assert.deepEqual(
          found,
          wanted.slice(0, Math.max(found.length, Math.min(wanted.length, 233))),
          JSON.stringify(filter),
        )
      }
    })

    await t.test('a list that has to search far reads many hours per statement', async () => {
      const texts: string[] = []
      const counting: Sql = {
        ...repositories.sql,
        all(text, params) {
          texts.push(text)
          return repositories.sql.all(text, params)
        },
      }
      const filter = { outcome: 'client_left' } as const

      const { data } = await sqlUsage(counting).list({ ...filter, limit: 1000 })

      assert.equal(data.length, rows.filter(row => fits(row, filter)).length)
      assert.ok(texts.length < data.length / 8, `${texts.length} statements for ${data.length} rows`)
    })

    await t.test('the overview equals its rows', async () => {
      const span = { from: ago(30.4), to: ago(0), step: 'day' as const }
      const chats = rows.filter(row => fits(row, span))

      const overview = await repositories.usage.overview(span)

      const [all] = sumUp(
        chats.map(row => ({ ...row, accountId: 'all' })),
        'account',
      )
      const { p50Ms, p95Ms, ...totals } = overview.totals
      assert.deepEqual({ group: 'all', ...totals }, all)
      const days = overview.series.map(({ at, p50Ms: _, p95Ms: __, ...sums }) => ({ group: iso(at), ...sums }))
      assert.deepEqual(byGroup(days), byGroup(sumUp(chats, 'day')))
      for (const [group, top] of [
        ['model', overview.models],
        ['key', overview.keys],
        ['provider', overview.providers],
        ['account', overview.accounts],
      ] as const) {
        assert.deepEqual(top.map(sumsOf), topOf(chats, group), group)
      }
      assert.equal(overview.accounts[0]?.name, 'Customer 1')
      assert.match(overview.keys[0]?.label ?? '', /^svc_live_…seed$/)
      const took = chats.filter(row => row.outcome === 'completed').map(row => row.finishedAt! - row.createdAt)
      took.sort((a, b) => a - b)
      for (const [said, part] of [
        [p50Ms, 0.5],
        [p95Ms, 0.95],
      ] as const) {
        const exact = took[Math.ceil(took.length * part) - 1] ?? 0
        assert.ok(Math.abs((said ?? 0) - exact) <= exact * 0.06 + 1, `${said} for ${exact}`)
      }
    })

    await t.test('the overview has the period before, minutes, and days of a time zone', async () => {
      const span = { from: ago(20.4), to: ago(0.3), step: 'day' as const }
      const zone = 'America/New_York'
      const dayIn = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })

      const offsets = zoneOffsets(zone, span.from, span.to)
      const { series, previous } = await repositories.usage.overview({ ...span, offsets })

      const local = (at: number) => dayIn.format(at)
      const wanted = Map.groupBy(
        rows.filter(row => fits(row, span)),
        row => local(row.createdAt),
      )
      assert.deepEqual(
        series.map(({ at, requests }) => [local(at), requests]),
        [...wanted].map(([day, of]) => [day, of.reduce((sum, row) => sum + row.requests, 0)]).sort(),
      )
      const before = rows.filter(row => fits(row, { from: 2 * span.from - span.to, to: span.from }))
      const [sums] = sumUp(
        before.map(row => ({ ...row, accountId: 'all' })),
        'account',
      )
      const { from, to, p50Ms: _, p95Ms: __, ...found } = previous
      assert.deepEqual([{ group: 'all', ...found }, from, to], [sums, 2 * span.from - span.to, span.from])

      const busy = rows.find(row => fits(row, {}) && row.createdAt < ago(2))?.createdAt ?? 0
      const minutes = await repositories.usage.overview({ from: busy, to: busy + 90 * 60_000, step: 'minute' })
      assert.deepEqual([minutes.step, minutes.series.length], ['minute', busy % 60_000 === 0 ? 90 : 91])
      const inside = rows.filter(row => fits(row, { from: busy, to: busy + 90 * 60_000 }))
      assert.equal(
        minutes.series.reduce((sum, { requests }) => sum + requests, 0),
        inside.reduce((sum, { requests }) => sum + requests, 0),
      )
    })

    await t.test(
      'low balances lists overdrawn accounts and those with little left relative to their spending',
      async () => {
        const overdrawn = ['acct_seed0007', 5_000_000n] as const
        await repositories.sql.run('UPDATE account SET available = 0, owed = $2 WHERE id = $1', [...overdrawn])

        const { lowBalances } = await repositories.usage.overview({ from: ago(1), to: ago(0), step: 'hour' })

        assert.deepEqual(
          lowBalances.map(({ id, available, owed }) => [id, available, owed]),
          [
            ['acct_seed0007', 0n, 5_000_000n],
            ['acct_seed0003', 250_000_000n, 0n],
            ['acct_seed0005', 750_000_000n, 0n],
          ],
        )
      },
    )

    if (engine !== 'sqlite') return
    await t.test('no report reads the whole table', async () => {
      const { watched, texts } = watchedReads(repositories.sql)
      const usage = sqlUsage(watched)
      const owners = [{ accountId: 'acct_seed0004' }, { keyId: 'key_seed0003' }]
      for (const owner of owners) for (const group of SUMMARY_GROUPS) await usage.summary(owner, group)
      for (const owner of owners) await usage.list({ limit: 50, ...owner, outcome: 'recovered' })
      for (const text of texts.keys()) {
        const plan = await repositories.sql.all(`EXPLAIN QUERY PLAN ${text}`, texts.get(text) as [])
        const steps = plan.map(row => String(row.detail)).filter(step => /\busage_(hour|day)\b/.test(step))
        for (const step of steps)
          assert.match(step, /^SEARCH usage_(hour|day) USING PRIMARY KEY \((hour|day)=\? AND account_id=\?/, text)
      }
      for (const filter of FILTERS) await usage.list({ limit: 50, ...filter })
      for (const group of SUMMARY_GROUPS) await usage.summary({ from: ago(30.3), to: ago(1.2) }, group)
      await usage.overview({ from: ago(30.4), to: ago(0), step: 'hour' })

      // The oldest row is the first of the primary key: a scan that ends with it.
      texts.delete('SELECT request_id FROM usage ORDER BY request_id LIMIT 1')
      for (const text of texts.keys()) {
        const plan = await repositories.sql.all(`EXPLAIN QUERY PLAN ${text}`, texts.get(text) as [])
        const steps = plan.map(row => String(row.detail)).filter(step => /\busage\b/.test(step))
        for (const step of steps)
          assert.match(step, /^SEARCH usage USING (PRIMARY KEY|INDEX usage_key|COVERING INDEX usage_key) \(/, text)
      }
      assert.ok(texts.size > 20)
    })
  })
}

// Charged streams that broke off, of one key in the same hours by different causes.
async function breakStreams(sql: Sql): Promise<void> {
  const changed = await sql.run(
    `UPDATE usage SET outcome = 'upstream_broke', error_code = CASE finished_at % 3
       WHEN 0 THEN 'upstream_rejected' WHEN 1 THEN 'service_unavailable' ELSE 'upstream_timeout' END
     WHERE key_id = 'key_seed0000' AND outcome = 'completed' AND cost > 0 AND created_at % 2 = 0`,
  )
  assert.ok(changed > 300, `${changed} rows`)
}

async function assertSummaries(
  repositories: Repositories,
  rows: readonly UsageRow[],
  filters: readonly UsageSpan[],
): Promise<void> {
  for (const filter of filters) {
    const fitting = rows.filter(row => fits(row, filter, 'known'))
    for (const group of SUMMARY_GROUPS) {
      const kept = await repositories.usage.summary(filter, group)
      assert.deepEqual(byGroup(kept), byGroup(sumUp(fitting, group)), `${group} ${JSON.stringify(filter)}`)
    }
  }
}

function topOf(rows: readonly UsageRow[], group: SummaryGroup): readonly Spending[] {
  const groups = sumUp(rows, group).filter(row => row.group !== '')
  return groups.sort((a, b) => (a.cost > b.cost ? -1 : 1)).slice(0, 10)
}

// Without the name.
function sumsOf(spending: Spending & { readonly name?: string; readonly label?: string }): Spending {
  const { name: _name, label: _label, ...sums } = spending
  return sums
}

function iso(at: number): string {
  return new Date(at).toISOString().slice(0, 10)
}
