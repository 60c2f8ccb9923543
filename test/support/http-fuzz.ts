// Almost valid requests: chats with odd values in every field, their JSON mutated as text and as bytes, with random
// paths, queries and headers.
import fc from 'fast-check'

export type FuzzedRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer | undefined
}

const text = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'binary', maxLength: 40 }))
const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
  fc.maxSafeInteger(),
  fc.constantFrom('', '5', 5.5, -0, 1e21, [], {}, null, true, '\u0000', '\ud800', '__proto__'),
)
const usually = <T>(value: fc.Arbitrary<T>) => fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: odd })

const part = fc.oneof(
  fc.record({ type: fc.constant('text'), text: usually(text) }),
  fc.record({ type: usually(fc.constantFrom('text', 'image_url', 'file', 'refusal')), image_url: odd }),
)
const toolCall = fc.record({
  id: usually(text),
  type: usually(fc.constantFrom('function', 'custom')),
  function: usually(fc.record({ name: text, arguments: text })),
})
const wildMessage = fc.record(
  {
    role: usually(fc.constantFrom('system', 'developer', 'user', 'assistant', 'tool', 'function')),
    content: usually(fc.oneof(text, fc.array(part, { maxLength: 3 }), fc.constant(null))),
    name: usually(text),
    tool_calls: usually(fc.array(toolCall, { maxLength: 2 })),
    tool_call_id: usually(text),
  },
  { requiredKeys: ['role', 'content'] },
)
const plainMessage = fc.record({ role: fc.constantFrom('system', 'user', 'assistant'), content: text })
const message = fc.oneof({ weight: 6, arbitrary: plainMessage }, { weight: 1, arbitrary: wildMessage })

const fields = {
  stream: usually(fc.boolean()),
  stream_options: usually(fc.record({ include_usage: usually(fc.boolean()) })),
  temperature: usually(fc.double({ min: 0, max: 2, noNaN: true })),
  top_p: usually(fc.double({ min: 0, max: 1, noNaN: true })),
  n: usually(fc.integer({ min: 1, max: 8 })),
  stop: usually(fc.oneof(text, fc.array(text, { maxLength: 5 }))),
  max_tokens: usually(fc.integer({ min: 1, max: 4096 })),
  user: usually(text),
  seed: usually(fc.maxSafeInteger()),
  tools: usually(
    fc.array(fc.record({ type: usually(fc.constant('function')), function: usually(fc.constant({ name: 'f' })) }), {
      minLength: 1,
      maxLength: 2,
    }),
  ),
  logit_bias: usually(fc.dictionary(text, fc.integer({ min: -100, max: 100 }))),
  response_format: usually(fc.constant({ type: 'json_object' })),
  service_tier: usually(fc.constant('auto')),
  metadata: usually(fc.dictionary(text, text, { maxKeys: 2 })),
}
const chat = fc
  .tuple(
    fc.record(
      {
        model: usually(fc.constant('test/m1')),
        messages: usually(fc.array(message, { minLength: 1, maxLength: 3 })),
        ...fields,
      },
      { requiredKeys: ['model', 'messages'] },
    ),
    fc.oneof(
      { weight: 5, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.dictionary(text, odd, { maxKeys: 3 }) },
    ),
  )
  .map(([known, unknown]) => JSON.stringify({ ...unknown, ...known }))

// Texts that JSON.stringify would never write.
const NUMBERS = ['1e400', '-1e400', '9007199254740993', '-0', '1E2', '00', '.5', '0x10', 'NaN', '1e-400']
const withOddNumber = fc.tuple(chat, fc.constantFrom(...NUMBERS)).map(([json, number]) => json.replace(/\d+/, number))
const withDuplicates = fc.tuple(chat, chat).map(([one, other]) => `${one.slice(0, -1)},${other.slice(1)}`)
const deep = fc.integer({ min: 1, max: 60 }).map(n => `{"model":"test/m1","messages":${'['.repeat(n)}${']'.repeat(n)}}`)

// A few bytes replaced, dropped or duplicated.
const bent = fc
  .tuple(chat, fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom(0, 1, 2)), { minLength: 1, maxLength: 4 }))
  .map(([json, bends]) => {
    let bytes = Buffer.from(json)
    for (const [at, byte, cut] of bends) {
      const place = at % (bytes.length + 1)
      bytes = Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place + cut)])
    }
    return bytes
  })

const body = fc.oneof(
  { weight: 5, arbitrary: chat.map(json => Buffer.from(json)) },
  { weight: 2, arbitrary: bent },
  { weight: 1, arbitrary: fc.oneof(withOddNumber, withDuplicates, deep).map(json => Buffer.from(json)) },
  { weight: 1, arbitrary: fc.json().map(json => Buffer.from(json)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)) },
)

const visible = fc.stringMatching(/^[\x21-\x7e][\x20-\x7e\x80-\xff]{0,30}[\x21-\x7e]$/)
const headers = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ 'content-type': 'application/json' }) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        'content-type': fc.oneof(fc.constant('application/json'), visible),
        'content-encoding': fc.constantFrom('gzip', 'identity'),
        'x-client-request-id': visible,
        'x-forwarded-for': visible,
        'x-request-id': visible,
        'if-none-match': visible,
        cookie: visible,
        accept: visible,
        'x-svc-cost': visible,
      },
      { requiredKeys: ['content-type'] },
    ),
  },
)

const segment = text.map(value => encodeURIComponent(value.toWellFormed()))
const elsewhere = fc.oneof(
  segment.map(name => `/v1/models/${name}`),
  segment.map(id => `/v1/usage/${id}`),
  segment.map(path => `/v1/${path}`),
  fc.stringMatching(/^[!-~]{0,30}$/).map(path => `/v1/${path}`),
  fc
    .tuple(fc.constantFrom('limit', 'after', 'from', 'to', 'model', 'endpoint', 'x'), segment)
    .map(pair => `/v1/usage?${pair.join('=')}`),
  fc.constantFrom('/v1/key/introspect', '/v1/models', '/v1/usage', '/v1'),
)

export const fuzzedRequest: fc.Arbitrary<FuzzedRequest> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ method: fc.constant('POST'), path: fc.constant('/v1/chat/completions'), headers, body }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      method: fc.constantFrom('GET', 'GET', 'GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'),
      path: elsewhere,
      headers,
      body: fc.constant(undefined),
    }),
  },
)
