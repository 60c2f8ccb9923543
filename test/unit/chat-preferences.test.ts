// Routing preferences are read in OpenRouter's format, exactly where money is concerned, and those that cannot be
// honoured are refused, not ignored.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseChat } from '../../src/chat/parse-request.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { NO_WISHES } from '../../src/domain/routing.ts'

const messages = () => [{ role: 'user', content: 'Hello' }]
const chat = (body: object) => parseChat({ model: 'm', messages: messages(), ...body })

test('a request without preferences has none, and null means absent', () => {
  assert.equal(chat({}).preferences, NO_WISHES)
  assert.equal(chat({ models: null, provider: null }).preferences, NO_WISHES)
  const { preferences } = chat({ provider: { order: null, only: null, sort: null, max_price: { prompt: null } } })
  assert.deepEqual(preferences, { ...NO_WISHES, only: undefined })
})

test('every preference is read under its own name', () => {
  const { preferences, forwarded, leftOut } = chat({
    models: ['b', 'c'],
    provider: {
      order: ['x'],
      only: ['x', 'y'],
      ignore: ['z'],
      allow_fallbacks: false,
      sort: 'price',
      max_price: { prompt: 2.5, completion: '10.000001', request: '0.01' },
      require_parameters: true,
    },
  })

  assert.deepEqual(preferences, {
    models: ['b', 'c'],
    order: ['x'],
    only: ['x', 'y'],
    ignore: ['z'],
    allowFallbacks: false,
    sort: 'cheapest',
    maxPrice: { prompt: 2_500_000n, completion: 10_000_001n, request: 10_000_000_000n },
    requireParameters: true,
  })
  assert.deepEqual([forwarded, leftOut], [{}, []])
})

test('a bound finer than any price is truncated, and one below any price is zero', () => {
  const { maxPrice } = chat({
    provider: { max_price: { prompt: '0.0000019', completion: 1e-9, request: 0 } },
  }).preferences

  assert.deepEqual(maxPrice, { prompt: 1n, completion: 0n, request: 0n })
})

test('unknown preferences are ignored and named; guarantees that are not supported are refused', () => {
  assert.deepEqual(chat({ provider: { quantizations: ['fp8'], data_collection: 'allow' } }).leftOut, [
    'provider.quantizations',
  ])
  for (const [provider, param] of [
    [{ data_collection: 'deny' }, 'provider.data_collection'],
    [{ zdr: true }, 'provider.zdr'],
  ] as const) {
    assert.throws(
      () => chat({ provider }),
      (error: Refusal) => error.code === 'unsupported_value' && error.detail.param === param,
    )
  }
})

const WRONG: readonly (readonly [body: object, param: string])[] = [
  [{ models: 'b' }, 'models'],
  [{ models: [1] }, 'models.0'],
  [{ models: [''] }, 'models.0'],
  [{ models: Array(17).fill('b') }, 'models'],
  [{ provider: 'x' }, 'provider'],
  [{ provider: { order: 'x' } }, 'provider.order'],
  [{ provider: { only: [7] } }, 'provider.only.0'],
  [{ provider: { sort: 'beauty' } }, 'provider.sort'],
  [{ provider: { allow_fallbacks: 'no' } }, 'provider.allow_fallbacks'],
  [{ provider: { max_price: 3 } }, 'provider.max_price'],
  [{ provider: { max_price: { prompt: -1 } } }, 'provider.max_price.prompt'],
  [{ provider: { max_price: { prompt: 'cheap' } } }, 'provider.max_price.prompt'],
  [{ provider: { max_price: { request: '-1' } } }, 'provider.max_price.request'],
]

for (const [body, param] of WRONG) {
  test(`${JSON.stringify(body).slice(0, 60)} is invalid at ${param}`, () => {
    assert.throws(
      () => chat(body),
      (error: unknown) =>
        error instanceof Refusal && error.code === 'invalid_value' && error.detail.param === param
          ? true
          : assert.fail(String(error instanceof Refusal ? error.detail.param : error)),
    )
  })
}

test('names of Object.prototype are ordinary names', () => {
  for (const name of ['__proto__', '__defineGetter__', 'hasOwnProperty', 'constructor']) {
    const provider = JSON.parse(`{"${name}":1}`)

    assert.deepEqual(chat({ provider }).leftOut, [`provider.${name}`])
  }
})
