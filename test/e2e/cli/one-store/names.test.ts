// Names instead of IDs: an exact ID, else an exact name or the last four characters of a key. Nothing is guessed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cli } from '../../../support/cli.ts'
import { openFixture } from '../../../support/fixture.ts'

const { gateway } = await openFixture()
const run = (...args: string[]) => cli(gateway, args)

test('accounts and keys are named wherever an ID is expected', async () => {
  const account = await gateway.createAccount({ name: 'Acme & Söhne' })
  const made = await run('keys', 'create', 'ci', '--account', 'Acme & Söhne', '--json')
  const id = String(made.json.id)
  const last4 = String(made.json.secret).slice(-4)
  assert.equal(made.json.account_id, account.id, made.stderr)

  const credits = await run('credits', 'add', 'Acme & Söhne', '5', '--json')
  const taken = await run('credits', 'add', 'Acme & Söhne', '-2', '--json')
  const byName = await run('keys', 'show', 'ci', '--json')
  const byLast4 = await run('keys', 'update', last4, '--rpm', '7', '--json')
  const listed = await run('keys', 'list', '--account', 'Acme & Söhne', '-q')
  await gateway.chat({}, { key: String(made.json.secret) })
  const used = await run(
    'usage',
    'list',
    '--key',
    'ci',
    '--account',
    'Acme & Söhne',
    '-o',
    'csv',
    '--columns',
    'key_id',
  )
  const ledger = await run('accounts', 'ledger', 'Acme & Söhne', '--columns', 'amount')
  const revoked = await run('keys', 'revoke', 'ci', '--json')

  assert.deepEqual([credits.json.account_id, taken.json.amount], [account.id, '-2'])
  assert.deepEqual([byName.json.id, byLast4.json.id, byLast4.json.rpm_limit], [id, id, 7])
  assert.equal(listed.stdout, `${id}\n`)
  assert.equal(used.stdout, `key_id\r\n${id}\r\n`)
  assert.match(ledger.stdout, /\n-2\n5\n/)
  assert.equal(revoked.json.status, 'revoked')
})

test('a name that several have is an error that lists them, and changes nothing', async () => {
  const keys = [await gateway.createKey({ name: 'twin' }), await gateway.createKey({ name: 'twin' })]

  const revoked = await run('keys', 'revoke', 'twin')

  assert.equal(revoked.code, 1)
  assert.match(revoked.stderr, /^turnpike: "twin" is more than one key; use the ID:\n/)
  for (const { id } of keys) {
    assert.match(revoked.stderr, new RegExp(`^  ${id}  twin of test, svc_live_….{4}, active$`, 'm'))
    assert.equal((await gateway.admin('GET', `/keys/${id}`)).body.status, 'active')
  }
})

test('a key that is named like the end of the secret of another does not take its place', async () => {
  const leaked = await gateway.createKey({ name: 'leaked' })
  const last4 = leaked.secret.slice(-4)
  const decoy = await gateway.createKey({ name: last4 })

  const revoked = await run('keys', 'revoke', last4)

  assert.equal(revoked.code, 1)
  for (const { id } of [leaked, decoy]) {
    assert.match(revoked.stderr, new RegExp(`^  ${id}  `, 'm'))
    assert.equal((await gateway.admin('GET', `/keys/${id}`)).body.status, 'active')
  }
})

test('of many candidates only some are listed', async () => {
  for (let i = 0; i < 12; i++) await gateway.createAccount({ name: 'many' })

  const shown = await run('accounts', 'show', 'many')

  assert.equal(shown.stderr.split('\n').filter(line => line.startsWith('  acct_')).length, 10)
  assert.match(shown.stderr, /\n {2}and more\n$/)
})

test('part of a name, other letters and unknown names find nothing', async () => {
  await gateway.createAccount({ name: 'Whole Name' })
  for (const text of ['Whole', 'whole name', 'Whole Name ', 'nobody', '%']) {
    const shown = await run('accounts', 'show', text)
    assert.equal(shown.code, 1)
    assert.match(shown.stderr, /there is no account with the ID or name/)
  }
  const created = await run('keys', 'create', 'x', '--account', `acct_${'0'.repeat(32)}`)
  assert.match(created.stderr, /account_id: there is no account with this id/)
})

test('an ID wins over a name that looks like one', async () => {
  const first = await gateway.createAccount({ name: 'first' })
  const imposter = await gateway.createAccount({ name: first.id })

  assert.equal((await run('accounts', 'show', first.id, '--json')).json.id, first.id)
  assert.notEqual(imposter.id, first.id)
})

test('operators are found by name, webhooks by URL or description', async () => {
  await run('operators', 'create', 'dana', '--role', 'viewer')
  const url = 'https://hooks.invalid/x'

  const changed = await run('operators', 'update', 'dana', '--role', 'admin', '--json')
  const removed = await run('operators', 'remove', 'dana')
  const nobody = await run('operators', 'remove', 'dana')
  const webhook = await run('webhooks', 'show', url)

  assert.equal(changed.json.role, 'admin', changed.stderr)
  assert.deepEqual([removed.code, nobody.code], [0, 1])
  assert.match(nobody.stderr, /there is no operator with the ID or name "dana"/)
  assert.match(webhook.stderr, /there is no webhook with the ID, URL or description/)
})

test('the search finds accounts by e-mail and keys by the last four, and usage is listed by error code', async () => {
  const account = await run(
    'accounts',
    'create',
    'Globex',
    '--email',
    'ops@globex.example',
    '--external-id',
    'cus_7',
    '--json',
  )
  const made = await run('keys', 'create', 'nightly', '--account', 'Globex', '--json')
  await gateway.chat({ model: 'no/such' }, { key: String(made.json.secret) })

  const byEmail = await run('search', 'ops@globex', '--json')
  const byLast4 = await run('search', String(made.json.secret).slice(-4), '-o', 'csv')
  const external = await run('accounts', 'list', '--external-id', 'cus_7', '-q')
  const failed = await run('usage', 'list', '--key', 'nightly', '--error-code', 'model_not_found', '-q')
  const models = await run(
    'usage',
    'list',
    '--key',
    'nightly',
    '--error-code',
    'model_not_found',
    '--columns',
    'model,model_served',
    '-o',
    'csv',
  )
  const others = await run('usage', 'list', '--key', 'nightly', '--error-code', 'internal_error', '-q')
  const ledger = await run('accounts', 'ledger', 'Globex', '--kind', 'topup', '--json')

  assert.deepEqual(
    (byEmail.json as unknown as readonly { readonly id: string }[]).map(({ id }) => id),
    [account.json.id],
    byEmail.stderr,
  )
  assert.match(byLast4.stdout, /^type,id,name,detail\r\nkey,key_\w+,nightly,/)
  assert.equal(external.stdout, `${account.json.id}\n`)
  assert.match(failed.stdout, /^[0-9a-f-]{36}\n$/)
  assert.equal(models.stdout, 'model,model_served\r\nno/such,\r\n')
  assert.equal(others.stdout, '')
  assert.equal(ledger.code, 0, ledger.stderr)
})
