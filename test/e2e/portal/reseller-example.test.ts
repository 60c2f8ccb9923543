// The example of a reseller's site in docs/examples, as its own process: a payment event of Stripe adds credits once, whatever is sent
// again or forged, and a customer gets into the portal.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { freePort } from '../../support/free-port.ts'
import { httpCall, type Loose } from '../../support/http-call.ts'
import { cookieOf, customerOf } from '../../support/portal.ts'
import { until } from '../../support/until.ts'

const ROOT = join(import.meta.dirname, '../../..')
const EVENT = readFileSync(join(ROOT, 'test/fixtures/stripe/checkout.session.completed.json'), 'utf8')
const SECRET = 'whsec_test_secret_of_this_endpoint'
const { gateway } = await openFixture()
const { id: accountId } = await gateway.createAccount({ name: 'Customer' })
const site = await startSite()

test('a paid checkout adds its price without tax, once, however often Stripe sends the event', async () => {
  const body = eventOf({})

  const first = await send(body)
  const again = await Promise.all(Array.from({ length: 5 }, () => send(body)))
  const later = await send(body, { at: Date.now() / 1000 + 120 })

  for (const answer of [first, ...again, later]) assert.deepEqual([answer.status, answer.text], [200, 'credited'])
  assert.equal(await available(), '25')
  const ledger = await gateway.admin<{ data: Loose[] }>('GET', `/accounts/${accountId}/ledger?kind=topup`)
  assert.equal(ledger.body.data.length, 1)
  assert.match(String(ledger.body.data[0]?.note), /^Stripe cs_test_/)
})

test('another checkout is another payment', async () => {
  const before = Number(await available())
  await send(eventOf({ id: 'evt_2', session: 'cs_2', amount_total: 1001, total_details: null }))
  assert.equal(Number(await available()), before + 10.01)
})

test('a wrong signature, an old timestamp and a changed body are refused and add nothing', async () => {
  const before = await available()
  const body = eventOf({ id: 'evt_forged', session: 'cs_forged' })
  const now = Math.floor(Date.now() / 1000)
  const refused = [
    await send(body, { secret: 'whsec_other' }),
    await send(body, { at: now - 301 }),
    await send(body, { at: now + 301 }),
    await send(body.replace('2975', '297500'), { header: headerOf(body, now) }),
    await send(body, { header: '' }),
    await send(body, { header: `t=${now}` }),
    await send(body, { header: headerOf(body, now).replace('v1=', 'v0=') }),
    await send(body, { header: `t=${now},v1=` }),
    await send(body, { header: headerOf(body, now).replace(`t=${now}`, `t=${now + 1}`) }),
  ]

  assert.deepEqual(
    refused.map(({ status }) => status),
    refused.map(() => 400),
  )
  assert.equal(await available(), before)
})

test('while the secret is rolled, one of two signatures is enough', async () => {
  const before = Number(await available())
  const body = eventOf({ id: 'evt_rolled', session: 'cs_rolled', total_details: null, amount_total: 100 })
  const now = Math.floor(Date.now() / 1000)
  const [, valid] = headerOf(body, now).split(',')
  const other = createHmac('sha256', 'old').update(`${now}.${body}`).digest('hex')

  const answer = await send(body, { header: `t=${now},v1=${other},${valid}` })

  assert.deepEqual([answer.status, Number(await available())], [200, before + 1])
})

const LATER = 'checkout.session.async_payment_succeeded'

test('what is not paid yet adds nothing, and is paid by the later event, in any order and however often', async () => {
  for (const isReversed of [false, true]) {
    const before = await availableCents()
    const session = `cs_debit_${isReversed}`
    const unpaid = eventOf({ id: `evt_unpaid_${isReversed}`, session, payment_status: 'unpaid' })
    const paid = eventOf({ id: `evt_paid_${isReversed}`, session, type: LATER })
    const sent = isReversed ? [paid, unpaid] : [unpaid, paid]

    const answers = await inOrder([...sent, ...sent])

    const expected = isReversed ? ['credited', 'ignored'] : ['ignored', 'credited']
    assert.deepEqual(answers, [...expected, ...expected])
    assert.equal(await availableCents(), before + 2500)
  }
})

test('an event that reaches two processes of the site at once adds its credits once', async () => {
  const before = await availableCents()
  const processes = [site, await startSite('another')]

  for (let i = 0; i < 8; i++) {
    const body = eventOf({ id: `evt_both_${i}`, session: `cs_both_${i}` })
    const answers = await Promise.all(processes.map(to => send(body, { to })))
    assert.deepEqual(
      answers.map(({ text }) => text),
      ['credited', 'credited'],
    )
  }

  assert.equal(await availableCents(), before + 8 * 2500)
})

test('an unknown account or currency is not answered with 2xx, so that Stripe reports it', async () => {
  assert.equal(
    (await send(eventOf({ id: 'evt_x1', session: 'cs_x1', client_reference_id: 'acct_unknown' }))).status,
    502,
  )
  assert.equal((await send(eventOf({ id: 'evt_x2', session: 'cs_x2', currency: 'jpy' }))).status, 422)
  assert.equal((await send(eventOf({ id: 'evt_x3', session: 'cs_x3', client_reference_id: null }))).status, 422)
})

test('the site sends a customer to the portal, which leads back to it', async () => {
  const redirect = await httpCall(`${site}/account/portal`)

  assert.equal(redirect.status, 303)
  const opened = await httpCall(String(redirect.headers.location))
  const customer = await customerOf(gateway, cookieOf(opened))
  assert.equal((await customer.call('GET', '/account')).body.id, accountId)
  assert.equal(customer.session.return_url, 'https://shop.example.com/account')
})

async function available(): Promise<string> {
  const { body } = await gateway.admin<{ balance: { available: string } }>('GET', `/accounts/${accountId}`)
  return body.balance.available
}

async function availableCents(): Promise<number> {
  return Math.round(Number(await available()) * 100)
}

// The recorded event with other values of the payment.
function eventOf({ id, type, session, ...payment }: Readonly<Record<string, unknown>>): string {
  const event = JSON.parse(EVENT.replace('"ACCOUNT"', JSON.stringify(accountId))) as { data: { object: object } }
  Object.assign(event.data.object, payment, session === undefined ? {} : { id: session })
  return JSON.stringify({ ...event, ...(id === undefined ? {} : { id }), ...(type === undefined ? {} : { type }) })
}

function headerOf(body: string, at: number, secret = SECRET): string {
  return `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`
}

type Sending = {
  readonly at?: number
  readonly secret?: string
  readonly header?: string
  readonly to?: string | undefined
}

function send(body: string, { at = Date.now() / 1000, secret, header, to = site }: Sending = {}) {
  const signature = header ?? headerOf(body, Math.floor(at), secret)
  return httpCall(`${to}/stripe/webhook`, { method: 'POST', body, headers: { 'stripe-signature': signature } })
}

async function inOrder(bodies: readonly string[]): Promise<readonly string[]> {
  const texts: string[] = []
  for (const body of bodies) texts.push((await send(body)).text)
  return texts
}

async function startSite(name = 'Stripe'): Promise<string> {
  const operator = await gateway.admin('POST', '/operators', { name, role: 'admin' })
  const port = await freePort()
  const child = spawn(process.execPath, [join(ROOT, 'docs/examples/reseller.js')], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      SITE_URL: 'https://shop.example.com',
      TURNPIKE_URL: gateway.url,
      TURNPIKE_OPERATOR_TOKEN: String(operator.body.token),
      STRIPE_WEBHOOK_SECRET: SECRET,
      DEMO_ACCOUNT: accountId,
    },
  })
  after(async () => {
    child.kill()
    await once(child, 'exit')
  })
  const url = `http://127.0.0.1:${port}`
  await until('the site answers', () =>
    httpCall(url).then(
      () => true,
      () => false,
    ),
  )
  return url
}
