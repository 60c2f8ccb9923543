// Deliberately hostile bodies: broken, ambiguous, huge or deeply nested. Each is refused with its own message or
// handled exactly as sent, quickly, and affects no other caller.
import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { test } from 'node:test'
import { standardConfig, startGateway } from '../../../support/gateway.ts'
import { httpCall } from '../../../support/http-call.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { startUpstream } from '../../../support/upstream.ts'

const MIB = 1024 * 1024
const FIELDS = '"model":"test/m1","messages":[{"role":"user","content":"hello"}]'
const VALID = `{${FIELDS}}`
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

const NOT_JSON: Readonly<Record<string, string | Buffer>> = {
  'an empty body': '',
  'JSON cut short': VALID.slice(0, -1),
  'a string cut short': VALID.slice(0, -5),
  'a byte order mark': `\ufeff${VALID}`,
  'a trailing byte': `${VALID}x`,
  'a trailing NUL': `${VALID}\0`,
  'a trailing second object': VALID + VALID,
  'an array': `[${VALID}]`,
  'a string': JSON.stringify(VALID),
  'a number': '5',
  null: 'null',
  true: 'true',
  'single quotes': "{'model':'test/m1'}",
  'an extra comma': `{${FIELDS},}`,
  'a comment': `{${FIELDS}}// hello`,
  NaN: `{${FIELDS},"temperature":NaN}`,
  'a leading zero': `{${FIELDS},"n":01}`,
  'a bare newline in a string': VALID.replace('hello', 'hel\nlo'),
  'a bad escape': VALID.replace('hello', '\\x41'),
  'a byte that is not UTF-8': Buffer.from(VALID.replace('hello', '\xff'), 'latin1'),
  'an overlong NUL': Buffer.from(VALID.replace('hello', '\xc0\x80'), 'latin1'),
  'a surrogate in UTF-8': Buffer.from(VALID.replace('hello', '\xed\xa0\x80'), 'latin1'),
  'UTF-16': Buffer.from(VALID, 'utf16le'),
  '33 levels': `{${FIELDS},"x":${nested(32)}}`,
  'four megabytes of [': '['.repeat(4 * MIB),
  'four megabytes of {"a":': '{"a":'.repeat((4 * MIB) / 5),
}

test('a hostile body is refused or handled correctly and affects nobody else', async t => {
  await using upstream = await startUpstream()
  await using gateway = await startGateway({ config: standardConfig(upstream.url) })
  const { secret } = await gateway.createKey({ rpm_limit: 100_000, credits: '1000' })
  const post = (body: string | Buffer) =>
    httpCall(`${gateway.url}/v1/chat/completions`, { body, headers: { authorization: `Bearer ${secret}` } })
  const sent = () => upstream.journal.at(-1)?.body as Record<string, unknown>

  for (const [what, body] of Object.entries(NOT_JSON)) {
    await t.test(`${what} is refused as invalid JSON`, async () => {
      const started = performance.now()

      assertRefusal(await post(body), 'invalid_json')

      assert.ok(performance.now() - started < 2000)
      assert.equal(upstream.journal.length, 0)
    })
  }

  await t.test('32 levels of nesting and surrounding whitespace are accepted', async () => {
    assert.equal((await post(`\r\n\t {${FIELDS},"x":${nested(31)}} \r\n`)).status, 200)
  })

  await t.test('the last of duplicate keys wins, for the gateway and the upstream', async () => {
    const answer = await post(
      `{"model":"no/such","temperature":9,"temperature":1,${FIELDS},"stream":true,"stream":false}`,
    )

    assert.equal(answer.status, 200)
    assert.deepEqual(sent(), {
      model: 'm1',
      temperature: 1,
      messages: [{ role: 'user', content: 'hello' }],
    })
  })

  await t.test('__proto__ and similar keys are unknown fields and change no prototype', async () => {
    assertRefusal(await post('{"__proto__":{"model":"test/m1"},"messages":[]}'), 'missing_field', 'model')
    const borrowed = '{"model":"test/m1","messages":[{"__proto__":{"role":"user"},"content":"x"}]}'
    assertRefusal(await post(borrowed), 'missing_field', 'messages.0.role')

    const answer = await post(`{${FIELDS},"__proto__":{"temperature":1},"constructor":1,"toString":2}`)

    assert.equal(answer.status, 200)
    assert.deepEqual(Object.keys(sent()), ['model', 'messages'])
    assert.equal(answer.headers['x-svc-ignored-fields'], '__proto__, constructor, toString')
  })

  await t.test('non-finite numbers, and long integers in bounded fields, are refused by path', async () => {
    const odd: [string, string][] = [
      ['"temperature":1e400', 'temperature'],
      ['"temperature":-1e400', 'temperature'],
      ['"max_tokens":9007199254740993', 'max_tokens'],
      ['"n":12345678901234567890', 'n'],
      ['"max_tokens":1e300', 'max_tokens'],
      ['"provider":99999999999999999999', 'provider'],
      ['"provider":{"max_price":99999999999999999999}', 'provider.max_price'],
      ['"metadata":99999999999999999999', 'metadata'],
      ['"stream_options":99999999999999999999', 'stream_options'],
      ['"tool_choice":99999999999999999999', 'tool_choice'],
      ['"unknown":{"deep":[0,1e999]}', 'unknown.deep.1'],
    ]
    for (const [field, param] of odd) assertRefusal(await post(`{${FIELDS},${field}}`), 'invalid_value', param)

    assert.equal((await post(`{${FIELDS},"max_tokens":1e2,"temperature":-0}`)).status, 200)
    assert.deepEqual([sent().max_tokens, sent().temperature], [100, 0])
  })

  await t.test('long integers keep their digits in forwarded fields', async () => {
    const long = '12345678901234567890123'
    const tools = `[{"type":"function","function":{"name":"f","parameters":{"maximum":${long},"enum":[-9007199254740993]}}}]`
    const answer = await post(`{${FIELDS},"seed":9007199254740993,"tools":${tools}}`)

    assert.equal(answer.status, 200, answer.text)
    const raw = upstream.journal.at(-1)?.rawBody.toString() ?? ''
    assert.ok(raw.includes('"seed":9007199254740993'), raw)
    assert.ok(raw.includes(`{"maximum":${long},"enum":[-9007199254740993]}`), raw)
    assertRefusal(await post(long), 'invalid_json')
  })

  await t.test('a lone surrogate and NUL reach the upstream as well-formed JSON', async () => {
    const answer = await post(VALID.replace('hello', 'a\\ud800b\\u0000c'))

    assert.equal(answer.status, 200)
    assert.ok(isUtf8(upstream.journal.at(-1)?.rawBody ?? Buffer.from([0xff])))
    assert.deepEqual(sent().messages, [{ role: 'user', content: 'a\ud800b\0c' }])
  })

  await t.test('a model name with NUL, surrogates or markup is unknown and breaks no row', async () => {
    const names = ['a\\u0000b', '\\ud800', "'; DROP TABLE usage; --", '../../etc/passwd', '__proto__', 'toString', '😀']
    const bodies = names.flatMap(name => [`{"model":"${name}","messages":[{"role":"user","content":"x"}]}`, VALID])

    const answers = await Promise.all(bodies.map(post))

    for (const [index, answer] of answers.entries()) {
      if (index % 2 === 1) assert.equal(answer.status, 200)
      else assertRefusal(answer, 'model_not_found', 'model')
    }
    const { body: row } = await gateway.get(`/v1/usage/${answers[0]?.headers['x-request-id']}`, secret)
    assert.equal(row.model_requested, 'a\ufffdb')
  })

  await t.test('megabytes of letters without spaces are forwarded unchanged', async () => {
    for (const letters of ['漢'.repeat(5 * MIB), 'é'.repeat(2 * MIB), '😀'.repeat(2 * MIB)]) {
      const { status, text } = await post(VALID.replace('hello', letters))

      const isTooLong = text.includes('context_length_exceeded')
      assert.ok(status === 200 || (status === 400 && isTooLong), `${status} ${text}`)
      if (status === 200) assert.ok(JSON.stringify(sent().messages) === `[{"role":"user","content":"${letters}"}]`)
    }
  })

  await t.test('above 1 MiB a lone surrogate is forwarded as U+FFFD, and pairs unchanged', async () => {
    const blanks = ' '.repeat(MIB)

    await post(`{"model":"test/m1",${blanks}"messages":[{"role":"user","content":"a\\ud800b\\ud83d\\ude00"}]}`)

    assert.deepEqual(sent().messages, [{ role: 'user', content: 'a\ufffdb😀' }])
  })

  await t.test('an error never echoes megabytes of the request', async () => {
    const answer = await post(`{${FIELDS},"logit_bias":{"${'k'.repeat(MIB)}":1000}}`)

    assert.equal(answer.body.error?.code, 'invalid_value')
    assert.ok(answer.text.length < 2000, `${answer.text.length} characters`)
  })

  await t.test('4 MB of one letter are estimated in bounded time, and others are served meanwhile', async () => {
    upstream.next({ usage: 'none' })
    const heavy = post(VALID.replace('hello', 'a'.repeat(4 * MIB - 200)))
    const neighbours: number[] = []
    while (neighbours.length < 20) {
      const started = performance.now()
      assert.equal((await gateway.get('/v1/models', secret)).status, 200)
      neighbours.push(performance.now() - started)
    }

    const answer = await heavy

    assert.equal(answer.status, 200)
    assert.ok(Math.max(...neighbours) < 2000, `another caller waited ${Math.max(...neighbours)} ms`)
    const { body: row } = await gateway.get(`/v1/usage/${answer.headers['x-request-id']}`, secret)
    assert.equal(row.usage_source, 'estimate')
  })

  assert.ok((await gateway.audit()).ok)
})
