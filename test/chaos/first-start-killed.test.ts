// kill -9 during the first start: the next start succeeds, and no secret is valid that was never printed.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/until.ts'

test('a first start that is killed repeatedly ends with one account, one key and one token', async () => {
  await using folder = await temporaryFolder()
  const dataDir = join(folder.path, 'data')
  const file = join(dataDir, 'turnpike.db')
  const start = { dataDir, env: { TURNPIKE_ADMIN_TOKEN: undefined } }
  // In the order in which a first start creates them.
  const moments: readonly (readonly [what: string, isThere: () => boolean])[] = [
    ['the data dir', () => existsSync(dataDir)],
    ['a database being created', () => existsSync(`${file}.new`) || existsSync(file)],
    ['the database', () => existsSync(file)],
    ['the key file', () => existsSync(join(dataDir, 'encryption.key'))],
    ['the account', () => rows(file, 'account') > 0],
    ['the admin token', () => rows(file, "setting WHERE name = 'admin_token_hash'") > 0],
    ['the first key', () => rows(file, 'secret') > 0],
  ]

  // The last start may have printed its secrets before it was killed.
  const said: string[] = []
  for (const [what, isThere] of moments) {
    await using gateway = await startGateway({ ...start, awaitReady: false })
    await until(`${what} is there`, isThere)
    await gateway.kill()
    said.push(...gateway.lines)
  }
  await using gateway = await startGateway(start)

  said.push(...gateway.lines)
  const token = lastOf(said, /Admin token +(\S+)/)
  const secret = lastOf(said, /First key +(\S+)/)
  const operator = { authorization: `Bearer ${token}` }
  const accounts = await gateway.admin<List<{ balance: object }>>('GET', '/accounts', undefined, operator)
  const keys = await gateway.admin<List<{ label: string }>>('GET', '/keys?status=active', undefined, operator)
  assert.deepEqual([accounts.status, accounts.body.data.length], [200, 1])
  assert.deepEqual(accounts.body.data[0]?.balance, { available: '10', held: '0', spent: '0', owed: '0' })
  assert.deepEqual(
    keys.body.data.map(key => key.label),
    [`svc_live_…${secret.slice(-4)}`],
  )
  assert.equal((await gateway.chat({ model: 'demo/echo' }, { key: secret })).status, 200)
  const before = gateway.lines.length
  await gateway.restart()
  assert.ok(!gateway.lines.slice(before).join().includes('tpk_admin_'), 'shown once')
  assert.ok((await gateway.audit()).ok)
})

function lastOf(lines: readonly string[], pattern: RegExp): string {
  return lines.flatMap(line => pattern.exec(line)?.[1] ?? []).at(-1) ?? ''
}

type List<T> = { readonly data: readonly T[] }

function rows(file: string, table: string): number {
  if (!existsSync(file)) return 0
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    return Number(db.prepare(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n)
  } finally {
    db.close()
  }
}
