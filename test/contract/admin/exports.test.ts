// Long CSV exports over real HTTP: exact over many pages, and aborted once the token that started them is no longer valid.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../../src/domain/key.ts'
import { timePrefix } from '../../../src/store/sql/time-order.ts'
import { openAdminFixture } from '../../support/admin-fixture.ts'
import { addRow } from '../../support/usage-rows.ts'

type Fixture = Awaited<ReturnType<typeof openAdminFixture>>

test('an export of a ledger over many pages has the balances of one page', async () => {
  await using fixture = await openAdminFixture()
  const began = await fillLedger(fixture, 1203)
  for (const day of [0, 1, 3]) await addRow(fixture.repositories, began + day * DAY_MS + 7, { cost: 1_000_000n })

  const { text } = await fixture.call('GET', '/accounts/acct_1/ledger?format=csv')

  const lines = text.trim().split('\r\n').slice(1).reverse()
  assert.equal(lines.length, 1203 + 3)
  let balance = 0
  for (const line of lines) {
    const [, , , , amount, said] = line.split(',')
    balance += Math.round(Number(amount) * 1000)
    assert.equal(Math.round(Number(said) * 1000), balance, line)
  }
  const page = await fixture.call('GET', '/accounts/acct_1/ledger?limit=1000')
  assert.deepEqual(
    page.body.data.map(({ id, balance: said }: Record<string, string>) => [id, said]),
    lines
      .slice(-1000)
      .reverse()
      .map(line => [line.split(',')[0], line.split(',')[5]]),
  )
})

test('an export is aborted when its operator is removed', async () => {
  await using fixture = await openAdminFixture()
  await fillLedger(fixture, 60_000)
  const { body: operator } = await fixture.call('POST', '/operators', { name: 'leaves', role: 'viewer' })
  const response = await fetch(`${fixture.base}/admin/v1/accounts/acct_1/ledger?format=csv`, {
    headers: { authorization: `Bearer ${operator.token}` },
  })
  assert.equal(response.status, 200)

  await fixture.call('DELETE', `/operators/${operator.id}`)

  await assert.rejects(response.text())
})

// Of a thousandth of a credit each, some every day. Returns when the first day began.
async function fillLedger({ repositories: { sql } }: Fixture, entries: number): Promise<number> {
  const began = Math.floor(sql.now() / DAY_MS) * DAY_MS - 5 * DAY_MS
  await sql.run("INSERT INTO account (id, name, created_at) VALUES ('acct_1', 'one', 0)")
  for (let i = 0; i < entries; i++) {
    const at = began + Math.floor((i / entries) * 5 * DAY_MS)
    const id = `${timePrefix(at)}-7000-8000-${String(i).padStart(12, '0')}`
    await sql.run(
      "INSERT INTO ledger (account_id, id, kind, amount, created_at) VALUES ('acct_1', $1, 'topup', $2, $3)",
      [...[id, 1_000_000n, at]],
    )
  }
  return began
}
