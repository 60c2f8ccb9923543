// The part of a reseller's site that talks to Turnpike, in one file without packages: Stripe's webhook adds credits, each payment once, and
// a logged-in customer gets into the portal. Explained in docs/selling-access.md.
//
//   STRIPE_WEBHOOK_SECRET=whsec_… TURNPIKE_OPERATOR_TOKEN=… node docs/examples/reseller.js
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const {
  TURNPIKE_URL: GATEWAY = 'http://127.0.0.1:8080',
  TURNPIKE_OPERATOR_TOKEN: TOKEN = '',
  STRIPE_WEBHOOK_SECRET: SECRET = '',
  SITE_URL = 'http://127.0.0.1:3000',
  DEMO_ACCOUNT = '',
  PORT = '3000',
} = process.env

const TOLERANCE_SECONDS = 300
const BODY_BYTES_MAX = 1024 * 1024

if (TOKEN === '' || SECRET === '') throw new Error('set TURNPIKE_OPERATOR_TOKEN and STRIPE_WEBHOOK_SECRET')

createServer(async (request, response) => {
  const {
    status,
    text = '',
    headers = {},
  } = await answer(request).catch(error => {
    console.error(error.message)
    // Stripe repeats what was not answered with 2xx, for days.
    return { status: error.status ?? 500, text: error.message }
  })
  response.writeHead(status, headers).end(text)
}).listen(Number(PORT), () => console.log(`listening on port ${PORT}`))

async function answer(request) {
  if (request.method === 'POST' && request.url === '/stripe/webhook') return topUp(request)
  if (request.method === 'GET' && request.url === '/account/portal') return openPortal(accountOf(request))
  return { status: 404 }
}

// Replace this with the account of the customer who is logged in to your site.
function accountOf(_request) {
  return DEMO_ACCOUNT
}

async function openPortal(account) {
  const { url } = await turnpike(`/accounts/${account}/portal-sessions`, { return_url: `${SITE_URL}/account` })
  return { status: 303, headers: { location: url, 'cache-control': 'no-store' } }
}

// A card pays with the checkout. A bank debit pays days later: then the first event says `unpaid`, and the second one is the payment.
const PAYMENTS = ['checkout.session.completed', 'checkout.session.async_payment_succeeded']

async function topUp(request) {
  const body = await readBody(request)
  verifySignature(body, request.headers['stripe-signature'])
  const event = JSON.parse(body.toString())
  const payment = event.data.object
  if (!PAYMENTS.includes(event.type) || payment.payment_status !== 'paid') return { status: 200, text: 'ignored' }

  // The account was given to Stripe as `client_reference_id` when the checkout was created. Credits are sold without tax.
  const account = payment.client_reference_id
  const cents = payment.amount_total - (payment.total_details?.amount_tax ?? 0)
  if (typeof account !== 'string' || payment.currency !== 'usd') throw failure(422, `unexpected payment ${payment.id}`)
  // An event that Stripe sends again has the same id: its credits are added once. Of a checkout only one event says `paid`.
  await turnpike(
    `/accounts/${encodeURIComponent(account)}/credits`,
    { amount: dollars(cents), note: `Stripe ${payment.id}` },
    { 'idempotency-key': `stripe-${event.id}` },
  )
  return { status: 200, text: 'credited' }
}

// Stripe's scheme: `Stripe-Signature: t=TIME,v1=SIGNATURE,…`, signed is `TIME.BODY` with the body as it was received. While a
// secret is rolled there are two signatures.
function verifySignature(body, header = '') {
  const parts = header.split(',').map(part => part.split('='))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  const expected = createHmac('sha256', SECRET).update(`${time}.`).update(body).digest()
  const isSigned = parts.some(([name, value = '']) => {
    const given = Buffer.from(value, 'hex')
    return name === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!isSigned) throw failure(400, 'wrong signature')
  if (Math.abs(Date.now() / 1000 - Number(time)) > TOLERANCE_SECONDS) throw failure(400, 'old timestamp')
}

// Whole cents as decimal text: money is never a float.
function dollars(cents) {
  if (!Number.isSafeInteger(cents) || cents <= 0) throw failure(422, 'unexpected amount')
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

async function turnpike(path, body, headers = {}) {
  const response = await fetch(`${GATEWAY}/admin/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  })
  const answered = await response.json()
  if (!response.ok) throw failure(502, `Turnpike: ${answered.error?.message}`)
  return answered
}

async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > BODY_BYTES_MAX) throw failure(413, 'too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function failure(status, message) {
  return Object.assign(new Error(message), { status })
}
