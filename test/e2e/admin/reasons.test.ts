// Why a request was refused or failed, on its row: the message as the caller got it, its figures, and what each provider said,
// without content or secrets. Operators see it, callers do not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixture } from '../../support/fixture.ts'
import { type Answer, httpCall, type Loose } from '../../support/http-call.ts'
import { PROVIDER_KEY_CANARY, standardConfig, standardModel, standardProvider } from '../../support/standard-config.ts'
import { until } from '../../support/until.ts'

// A failure of a credential is remembered, so each model has providers of its own.
const MODELS = ['test/failed', 'test/limited', 'test/failover']
const { gateway, upstream } = await openFixture(url => {
  const ids = (model: string) => [`${model.slice(5)}-1`, `${model.slice(5)}-2`]
  const targets = (model: string) =>
    ids(model).map((provider, priority) => ({ provider, model: priority === 0 ? 'first' : 'second', priority }))
  return standardConfig(url, {
    providers: [
      standardProvider(url),
      ...MODELS.flatMap(ids).map(id => standardProvider(url, { id })),
      standardProvider(url, { id: 'claude', kind: 'anthropic' }),
    ],
    models: [
      standardModel(),
      ...MODELS.map(id => standardModel({ id, targets: targets(id) })),
      standardModel({ id: 'test/claude', targets: [{ provider: 'claude', model: 'claude' }] }),
    ],
  })
})

async function rowOf({ headers }: Pick<Answer, 'headers'>): Promise<Loose> {
  const path = `/usage/${headers['x-request-id']}`
  const row = async () => gateway.admin('GET', path)
  await until('the row is closed', async () => ((await row()).body.state ?? 'open') !== 'open')
  return (await row()).body
}

const said = (message: unknown, more = {}) => JSON.stringify({ error: { message, ...more } })

test('refusals have the message of the caller and the figures of their limit', async () => {
  const poor = await gateway.createKey({ credits: '0.00001' })
  const capped = await gateway.createKey({ credit_limit: '0' })
  const minute = await gateway.createKey({ rpm_limit: 1 })
  const day = await gateway.createKey({ daily_limit: 1 })
  for (const { secret } of [minute, day]) await gateway.get('/v1/models', secret)
  const answers = [
    await gateway.chat({ max_tokens: 100 }, { key: poor.secret }),
    await gateway.chat({}, { key: capped.secret }),
    await gateway.chat({}, { key: minute.secret }),
    await gateway.chat({}, { key: day.secret }),
    await gateway.chat({ temperature: 7 }),
    await gateway.chat({ model: 'none' }),
  ]

  assert.deepEqual(
    answers.map(({ status }) => status),
    [402, 402, 429, 429, 400, 404],
  )
  for (const answer of answers) {
    const row = await rowOf(answer)
    const { message, param, metadata, code } = answer.body.error as Loose
    const { request_id: _, ...figures } = metadata as Loose
    assert.deepEqual([row.error_code, row.error_message], [code, message])
    assert.deepEqual(row.error_detail ?? {}, { ...(param === null ? {} : { param }), ...figures })
  }
  const details = (await Promise.all(answers.map(rowOf))).map(row => row.error_detail as Loose)
  assert.deepEqual([details[0]?.limit, details[0]?.available, details[1]?.limit], ['account', '0.00001', 'key'])
  const [, , rpm, daily] = details
  assert.deepEqual([rpm?.limit, rpm?.quota, rpm?.remaining], ['rpm', 1, 0])
  assert.ok(Number(rpm?.reset) > 0 && Number(rpm?.retry_after) > 0)
  assert.deepEqual([daily?.limit, daily?.quota, daily?.used, daily?.remaining], ['daily', 1, 1, 0])
})

test('a daily limit that the reservation finds used up, and refusals that share a row, have their figures', async () => {
  const { secret, id } = await gateway.createKey({ daily_limit: 20, rpm_limit: 1000 })
  await Promise.all(Array.from({ length: 60 }, () => gateway.get('/v1/models', secret)))

  const rows = (await gateway.admin<{ data: Loose[] }>('GET', `/usage?key_id=${id}&endpoint=models&outcome=refused`))
    .body
  assert.ok(rows.data.length > 0)
  for (const row of rows.data) {
    assert.deepEqual([(row.error_detail as Loose).limit, (row.error_detail as Loose).quota], ['daily', 20])
    assert.match(String(row.error_message), /daily request limit/)
  }
})

test('after failed attempts the row has what each provider said, without keys and addresses', async () => {
  const key = `sk-proj-${'a1'.repeat(20)}`
  upstream.script(
    { status: 500, body: said('The engine is on fire, see https://user:pw@status.example.com/x') },
    'first',
  )
  upstream.script({ status: 401, body: said(`Incorrect API key provided: ${key} or ${PROVIDER_KEY_CANARY}`) }, 'second')

  const answer = await gateway.chat({ model: 'test/failed' })
  const row = await rowOf(answer)

  upstream.reset()
  assert.deepEqual([answer.status, row.error_code], [502, 'all_providers_failed'])
  assert.equal(row.error_message, 'Incorrect API key provided: [key] or [hidden]')
  assert.deepEqual((row.error_detail as Loose).attempts, [
    { provider: 'failed-1', model: 'first', status: 500, error: 'The engine is on fire, see [address]' },
    { provider: 'failed-2', model: 'second', status: 401, error: 'Incorrect API key provided: [key] or [hidden]' },
  ])
  assert.ok(!answer.text.includes('fire'), 'the caller does not get it')
  const own = await gateway.get(`/v1/usage/${answer.headers['x-request-id']}`)
  assert.ok(!('error_message' in own.body) && !own.text.includes('fire'))
})

test('a limited provider and one that cannot be reached are named with their reason', async () => {
  upstream.script({ status: 429, body: said('Rate limit reached for gpt-x') }, 'first')
  upstream.script({ resetBeforeHeaders: true }, 'second')

  const row = await rowOf(await gateway.chat({ model: 'test/limited' }))

  upstream.reset()
  const [first, second] = (row.error_detail as Loose).attempts as unknown as Loose[]
  assert.deepEqual([first?.status, first?.error], [429, 'Rate limit reached for gpt-x'])
  assert.deepEqual([second?.status, typeof second?.error], [null, 'string'])
})

test('a request that another provider served keeps the reason of the failover', async () => {
  upstream.script({ status: 503, body: said('Overloaded') }, 'first')

  const answer = await gateway.chat({ model: 'test/failover' })
  const row = await rowOf(answer)

  upstream.reset()
  assert.equal(answer.status, 200)
  assert.deepEqual([row.error_code, row.error_message], [null, null])
  assert.deepEqual(row.error_detail, {
    attempts: [{ provider: 'failover-1', model: 'first', status: 503, error: 'Overloaded' }],
  })
})

const PROMPT = 'My diary of Tuesday: the Zürich canary-4711 sings at dawn.\n\nTell "nobody" about it.'

test('neither a short prompt nor texts of tools and schemas are kept', async () => {
  const schema = { type: 'object', properties: { diagnosis_of_patient: { type: 'string', enum: ['canary disease'] } } }
  const tool = { name: 'tell_the_canary', description: 'Whispers to the canary at dawn', parameters: schema }
  const words =
    'tell_the_canary (Whispers to the canary at dawn): diagnosis_of_patient, canary disease; stop singing canary'
  const body = {
    messages: [{ role: 'user', content: 'PIN 4711' }],
    tools: [{ type: 'function', function: tool }],
    stop: ['stop singing canary'],
  }
  upstream.next({ status: 400, body: said(`additionalProperties of ${words}; pin 4711\u202e \u2028 is no string`) })

  const answer = await gateway.chat(body)
  const row = await rowOf(answer)

  assert.equal(answer.status, 400)
  const shown = 'additionalProperties of [content] ([content]): [content], [content]; [content]; [content] is no string'
  assert.equal(String(row.error_message).replace(/\s+/g, ' '), shown)
  assert.ok(!/canary|4711|diagnosis/.test(JSON.stringify(row)))
})

for (const stream of [false, true]) {
  test(`a ${stream ? 'streamed' : 'JSON'} request that is rejected keeps the provider's words without the prompt`, async () => {
    const quoting = `Content of messages[0] is not allowed: ${PROMPT.replaceAll('\n', ' ')} (policy 7), near 'canary'`
    upstream.next({ status: 400, body: said(quoting) })

    const answer = await gateway.chat({ messages: [{ role: 'user', content: PROMPT }], stream })
    const row = await rowOf(answer)

    assert.equal(answer.status, 400)
    assert.match(answer.text, /canary-4711/, 'the caller gets its own words back')
    assert.equal(row.error_message, "Content of messages[0] is not allowed: [content]. (policy 7), near '[content]'")
    assert.ok(!JSON.stringify(row).includes('4711') && !JSON.stringify(row).includes('diary'))
  })
}

test('a count of tokens that is rejected keeps the words without the prompt', async () => {
  upstream.next({ status: 400, body: said(`bad prompt: ${PROMPT}`) })
  const { secret } = await gateway.createKey()

  const answer = await httpCall(`${gateway.url}/v1/messages/count_tokens`, {
    body: { model: 'test/claude', messages: [{ role: 'user', content: PROMPT }] },
    headers: { authorization: `Bearer ${secret}` },
  })
  const row = await rowOf(answer)

  upstream.reset()
  assert.deepEqual([answer.status, row.error_code], [400, 'upstream_rejected'], answer.text)
  assert.equal(row.error_message, 'bad prompt: [content].')
})

test('a stream that breaks keeps the error of the provider without the answer', async () => {
  const words = ['The answer ', 'to everything ', 'is forty-two ', 'of course ']
  const error = { message: `failed after: ${words.join('')}internal error 5`, code: 'server_error' }
  upstream.next({ words, errorFrameAfterChunks: 4, errorFrame: { error } })

  const answer = await gateway.chat({ stream: true })
  const row = await rowOf(answer)

  assert.deepEqual([answer.status, row.outcome], [200, 'upstream_broke'])
  assert.equal(row.error_message, 'failed after: [content] internal error 5')
})

test('words of any length and form are stored in bounds', async () => {
  const odd = [
    `${'long '.repeat(5000)}`,
    'a\u0000b\u0007c\ud800d\u2028e',
    '<b>bold</b> &amp; "x"',
    7,
    null,
    '',
    ['list'],
  ]

  for (const message of odd) {
    upstream.next({ status: 400, body: said(message) })
    const row = await rowOf(await gateway.chat({}))
    const text = String(row.error_message)
    assert.ok(text.length > 0 && text.length <= 500 && text.isWellFormed(), text)
    assert.doesNotMatch(text, /\p{Cc}/u)
  }
  upstream.next({ status: 400, body: said('secret words of a long prompt') })
  const long = await rowOf(
    await gateway.chat({ messages: [{ role: 'user', content: 'x'.repeat(600_000) }], max_tokens: 1 }),
  )
  assert.ok(!String(long.error_message).includes('secret words'), 'what cannot be compared is not kept')
})
