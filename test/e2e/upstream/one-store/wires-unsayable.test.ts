// Caller input that no package can convert to the vendor's format: refused as a client error, without a call, and
// without an effect on other callers.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as anthropic from '../../../fixtures/wires/anthropic.ts'
import * as bedrock from '../../../fixtures/wires/bedrock.ts'
import * as cohere from '../../../fixtures/wires/cohere.ts'
import * as google from '../../../fixtures/wires/google.ts'
import { startGateway } from '../../../support/gateway.ts'
import { assertRefusal } from '../../../support/refusal.ts'
import { settledRow } from '../../../support/usage.ts'
import { jsonAnswer, startVendor } from '../../../support/vendor.ts'
import { WIRES, wiresConfig } from '../../../support/wires.ts'

const SDK = WIRES.filter(({ kind }) => kind !== 'openai').map(({ kind }) => kind as keyof typeof ANSWERS)
const ANSWERS = {
  anthropic: anthropic.json,
  google: google.json,
  vertex: google.json,
  bedrock: bedrock.json,
  cohere: cohere.json,
}

const vendor = await startVendor()
const gateway = await startGateway({ config: wiresConfig(vendor.origin) })
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
})

const picture = (url: string) => ({ type: 'image_url', image_url: { url } })
const shown = (url: string) => ({ messages: [{ role: 'user', content: [picture(url)] }] })
const found = (url: string) => ({
  messages: [
    { role: 'user', content: 'look' },
    { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'a', content: [picture(url)] },
  ],
})
const shaped = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
})
const BAD_URLS = ['data:', 'data:image/png', 'data:image/png,%%']
const BAD_BASE64 = ['data:image/*;base64,!!!', 'data:image;base64,%%%', 'data:image/png;base64,AAAAA']
const UNSAYABLE: readonly (readonly [what: string, body: object, words?: RegExp])[] = [
  ...[...BAD_URLS, ...BAD_BASE64].flatMap(
    url =>
      [
        [`a picture at ${url}`, shown(url), /picture|data: URL|base64/],
        [`a tool that found a picture at ${url}`, found(url), /picture|data: URL|base64/],
      ] as const,
  ),
  ['audio that is not base64', said({ type: 'input_audio', input_audio: { data: 'AAAAA', format: 'wav' } })],
  ['a file that is not base64', said({ type: 'file', file: { file_data: 'data:application/pdf;base64,@@' } })],
]

for (const kind of SDK) {
  test(`${kind}: unreadable input is the caller's error and is not sent`, async () => {
    const before = vendor.requests.length
    for (const [what, body, words] of UNSAYABLE) {
      for (const stream of [false, true]) {
        const answer = await gateway.chat({ model: `test/${kind}`, ...body, stream })

        const { message } = assertRefusal(answer, 'upstream_rejected')
        assert.match(String(message), words ?? /./, what)
        const row = await settledRow(gateway, answer.headers['x-request-id'])
        assert.deepEqual([row.attempts[0]?.outcome, row.cost], ['rejected', '0'], what)
      }
    }
    assert.equal(vendor.requests.length, before)
  })
}

for (const kind of ['google', 'vertex'] as const) {
  test(`${kind}: a schema that the package cannot convert is the caller's error`, async () => {
    for (const schema of [
      { type: 'object', properties: { a: { anyOf: [null] } } },
      { type: 'object', anyOf: [null] },
      { type: 'object', $defs: { a: null }, properties: { b: { anyOf: [{ type: 'null' }, null] } } },
    ]) {
      const answer = await gateway.chat({ model: `test/${kind}`, ...shaped(schema) })

      const { message } = assertRefusal(answer, 'upstream_rejected')
      assert.match(String(message), /response_format/)
    }
  })
}

test('two accounts that send only such requests do not affect a third', async () => {
  const callers = [await gateway.createKey({ rpm_limit: 10_000 }), await gateway.createKey({ rpm_limit: 10_000 })]
  const innocent = await gateway.createKey()
  const before = vendor.requests.length
  for (const kind of SDK) {
    const isGoogle = kind === 'google' || kind === 'vertex'
    const body = isGoogle ? shaped({ type: 'object', anyOf: [null] }) : shown('https://[')
    await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        gateway.chat({ model: `test/${kind}`, ...body }, { key: callers[i % 2]?.secret ?? '' }),
      ),
    )
    for (let i = 0; i < 5; i++) vendor.next(jsonAnswer(ANSWERS[kind]))

    const answers = await Promise.all(
      Array.from({ length: 5 }, () => gateway.chat({ model: `test/${kind}` }, { key: innocent.secret })),
    )

    for (const { status, text } of answers) assert.equal(status, 200, `${kind}: ${text}`)
  }
  // No probe was sent to the vendors either.
  assert.equal(vendor.requests.length, before + 5 * SDK.length)
})

function said(part: object): object {
  return { messages: [{ role: 'user', content: [part] }] }
}
