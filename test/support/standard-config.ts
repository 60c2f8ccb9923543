// The catalog that most tests start from, in parts that a test can change one by one.

type Fields = Readonly<Record<string, unknown>>

export const PROVIDER_KEY_CANARY = 'upstream-secret-canary'

export function standardConfig(upstreamUrl: string, overrides: Fields = {}): Fields {
  return {
    providers: [standardProvider(upstreamUrl), standardProvider(upstreamUrl, { id: 'up2' })],
    models: [standardModel()],
    ...overrides,
  }
}

export function standardProvider(upstreamUrl: string, overrides: Fields = {}): Fields {
  return { id: 'up', kind: 'openai', base_url: upstreamUrl, api_key: PROVIDER_KEY_CANARY, ...overrides }
}

export function embeddingModel(overrides: Fields): Fields {
  return { type: 'embedding', context_length: 8192, dimensions: 8, pricing: { prompt: '0.00000002' }, ...overrides }
}

export function standardModel(overrides: Fields = {}): Fields {
  return {
    id: 'test/m1',
    context_length: 128_000,
    max_output_tokens: 4096,
    pricing: { prompt: '0.0000025', completion: '0.00001', input_cache_read: '0.00000125' },
    targets: [{ provider: 'up', model: 'm1' }],
    ...overrides,
  }
}

// `test/pair` with a target at each of two providers, the first one preferred; `test/dead` at one that does not answer.
export function pairConfig(upstreamUrl: string, deadUrl: string, second: string): Fields {
  return standardConfig(upstreamUrl, {
    providers: [
      standardProvider(upstreamUrl, { id: 'one' }),
      standardProvider(upstreamUrl, { id: 'two' }),
      standardProvider(deadUrl, { id: 'dead' }),
    ],
    models: [
      standardModel({
        id: 'test/pair',
        targets: [
          { provider: 'one', model: 'first', priority: 0 },
          { provider: 'two', model: second, priority: 1 },
        ],
      }),
      standardModel({ id: 'test/dead', targets: [{ provider: 'dead', model: 'gone' }] }),
    ],
  })
}
