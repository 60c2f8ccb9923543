// Mistakes in a configuration file: refused by line and key, all of them at once, and nothing is guessed.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { ENV, GOOD, openPlace } from '../support/config-file.ts'

// Each is the valid file with one change, and what the message must name: line and key.
const FLAWS: readonly (readonly [flaw: string, from: string, to: string, message: RegExp])[] = [
  ['an unknown key', 'drain_delay:', 'drain_dealy:', /:15:1: drain_dealy: is not a known field; known are providers, /],
  ['an unknown key deep inside', 'weight: 2', 'wieght: 2', /:11:62: models\[0\]\.targets\[0\]\.wieght/],
  [
    'a wrong type',
    'rpm_limit: 60',
    'rpm_limit: "60"',
    /:13:24: defaults\.rpm_limit: must be a whole number from 1 to 10000000/,
  ],
  ['a fraction instead of an integer', 'rpm_limit: 60', 'rpm_limit: 60.5', /:13:\d+: defaults\.rpm_limit/],
  ['a number instead of text', 'id: gpt-4o-mini', 'id: 4', /:5:\d+: models\[0\]\.id: must be a string, in quotes/],
  ['a duplicate key', 'drain_delay: 0.25', 'drain_delay: 0.25\ndrain_delay: 1', /:16:\d+: .*unique/],
  ['a duplicate provider id', 'id: local', 'id: openai', /:3:\d+: providers\[1\]\.id: "openai" is taken/],
  [
    'a target of an unknown provider',
    'provider: local',
    'provider: lokal',
    /:12:\d+: models\[0\]\.targets\[1\]\.provider/,
  ],
  ['a model without prices', '    pricing:', '    # pricing:', /:5:5: models\[0\]\.pricing: is missing/],
  [
    'a model without the completion price',
    'completion: 0.0000006, ',
    '',
    /:9:\d+: models\[0\]\.pricing\.completion: is missing/,
  ],
  ['a negative price', '"0.00000015"', '-0.1', /:9:\d+: models\[0\]\.pricing\.prompt/],
  ['a price with an exponent', '"0.00000015"', '1.5e-7', /:9:\d+: models\[0\]\.pricing\.prompt: .*no exponent/],
  ['a price finer than a pico-credit', '"0.00000015"', '0.0000000000001', /:9:\d+: .*at most 12 decimals/],
  [
    'a retention of zero days',
    'drain_delay: 0.25',
    'usage_retention_days: 0',
    /:15:\d+: usage_retention_days: .*1 to 3650/,
  ],
  [
    'a retention that is too long',
    'drain_delay: 0.25',
    'usage_retention_days: 3651',
    /:15:\d+: usage_retention_days: .*1 to 3650/,
  ],
  [
    'a retention of a fraction of a day',
    'drain_delay: 0.25',
    'usage_retention_days: 1.5',
    /:15:\d+: usage_retention_days: /,
  ],
  ['a markup of zero', 'drain_delay: 0.25', 'markup: 0', /:15:\d+: markup: .*above 0/],
  ['a negative markup', 'drain_delay: 0.25', 'markup: "-1.25"', /:15:\d+: markup: .*above 0/],
  ['a rate with an exponent', 'drain_delay: 0.25', 'credits_per_usd: 1e2', /:15:\d+: credits_per_usd: .*no exponent/],
  [
    'a rate beyond bounds',
    'drain_delay: 0.25',
    'credits_per_usd: 1000001',
    /:15:\d+: credits_per_usd: .*at most 1000000/,
  ],
  [
    'a rate too fine',
    'drain_delay: 0.25',
    'credits_per_usd: "0.0000001"',
    /:15:\d+: credits_per_usd: .*at most 6 decimals/,
  ],
  [
    'a rate that is not a number',
    'drain_delay: 0.25',
    'credits_per_usd: true',
    /:15:\d+: credits_per_usd: must be .*a plain decimal/,
  ],
  // 128,000 tokens of prompt at 703 credits fit into 90 million, as do 8 choices of 16,384 tokens at 686.
  [
    'a prompt price above the bound',
    '"0.00000015"',
    '"704"',
    /:9:\d+: models\[0\]\.pricing: is too high: .*90000000 is the most/,
  ],
  ['a completion price above the bound', '0.0000006', '687', /:9:\d+: models\[0\]\.pricing: is too high/],
  ['a cache price above the bound', '0.000000075', '999999', /:9:\d+: models\[0\]\.pricing: is too high/],
  [
    'a request price above the bound',
    'completion: 0.0000006',
    'completion: 0, request: 9000000.1',
    /:9:\d+: models\[0\]\.pricing\.request/,
  ],
  ['a priority out of bounds', 'priority: 1 ', 'priority: -1 ', /:12:\d+: models\[0\]\.targets\[1\]\.priority/],
  ['a weight of zero', 'weight: 2', 'weight: 0', /:11:\d+: models\[0\]\.targets\[0\]\.weight/],
  [
    'a cost without the completion',
    'weight: 2',
    'cost: { prompt: 0 }',
    /:11:\d+: models\[0\]\.targets\[0\]\.cost\.completion: is missing/,
  ],
  ['a cost of an unknown kind', 'weight: 2', 'cost: { promt: 0 }', /:11:\d+: models\[0\]\.targets\[0\]\.cost\.promt/],
  [
    'a negative cost',
    'weight: 2',
    'cost: { prompt: -1, completion: 0 }',
    /:11:\d+: models\[0\]\.targets\[0\]\.cost\.prompt: must be US dollars/,
  ],
  [
    'a cost above the bound',
    'weight: 2',
    'cost: { prompt: 704, completion: 0 }',
    /:11:\d+: models\[0\]\.targets\[0\]\.cost: is too high: .*90000000 is the most/,
  ],
  [
    'price tiers out of order',
    'input_cache_read: 0.000000075',
    'tiers: [{ above_prompt_tokens: 9, prompt: 1, completion: 1 }, { above_prompt_tokens: 9, prompt: 2, completion: 2 }]',
    /:9:\d+: models\[0\]\.pricing\.tiers\[1\]\.above_prompt_tokens: must be above 9/,
  ],
  [
    'a negative price in a tier of a cost',
    'weight: 2',
    'cost: { prompt: 1, completion: 1, tiers: [{ above_prompt_tokens: 9, prompt: -1, completion: 1 }] }',
    /:11:\d+: models\[0\]\.targets\[0\]\.cost\.tiers\[0\]\.prompt: must be US dollars/,
  ],
  ['a URL that is not HTTP', 'http://127.0.0.1:11434/v1', 'file:///etc', /:3:\d+: providers\[1\]\.base_url/],
  [
    'credentials in a URL',
    'http://127.0.0.1',
    'http://me:pw@127.0.0.1',
    /:3:\d+: providers\[1\]\.base_url: must not contain/,
  ],
  [
    'an unknown kind',
    'kind: openai, base_url: "http:',
    'kind: smtp, base_url: "http:',
    /:3:\d+: providers\[1\]\.kind: must be one of/,
  ],
  [
    'images without their bound',
    '    aliases: [mini]',
    '    input_modalities: [text, image]',
    /models\[0\]\.media_max_tokens: is missing/,
  ],
  ['an alias that is a model', '[mini]', '[gpt-4o-mini]', /models\[0\]\.aliases: "gpt-4o-mini" is taken/],
  ['a duplicate alias', '[mini]', '[mini, mini]', /models\[0\]\.aliases: "mini" is taken/],
  ['more output than context', '16384', '163840000', /:8:\d+: models\[0\]\.max_output_tokens/],
  [
    'a variable that is not set',
    'OPENAI_API_KEY',
    'NO_SUCH_KEY',
    /:2:\d+: providers\[0\]\.api_key: the environment variable NO_SUCH_KEY is not set/,
  ],
  [
    'an invalid range',
    'drain_delay: 0.25',
    'trusted_proxies: [10.0.0.0/8, garbage]',
    /:15:\d+: trusted_proxies\[1\]: .*garbage/,
  ],
  [
    'a longer allowlist than a key may have',
    'rpm_limit: 60',
    `ip_allowlist: [${Array(257).fill('10.0.0.1').join(', ')}]`,
    /:13:\d+: defaults\.ip_allowlist: .*256/,
  ],
  ['an origin with a path', 'drain_delay: 0.25', 'cors_origins: ["https://a.example/x"]', /:15:\d+: cors_origins\[0\]/],
  ['broken YAML', 'drain_delay: 0.25', 'drain_delay: [', /:1[56]:\d+: /],
  ['an unknown tag', 'drain_delay: 0.25', 'drain_delay: !!python 1', /:15:\d+: .*tag/],
]

for (const [flaw, from, to, message] of FLAWS) {
  test(`a file with ${flaw} is refused by line and key, without its secrets`, () => {
    assert.ok(GOOD.includes(from))
    using place = openPlace(GOOD.replace(from, to))

    assert.throws(
      () => loadConfig(ENV, place.dir),
      error => {
        assert.ok(error instanceof Error && error.name === 'BadConfig', String(error))
        assert.match(error.message, message)
        assert.ok(error.message.startsWith(join(place.dir, 'turnpike.yaml')))
        assert.doesNotMatch(error.message, /sk-canary|me:pw/)
        return true
      },
    )
  })
}

test('a model without targets is refused', () => {
  using place = openPlace(GOOD.replace(/ {4}targets:\n.*\n.*\n/, '    targets: []\n'))

  assert.throws(() => loadConfig(ENV, place.dir), /:10:\d+: models\[0\]\.targets: must have at least one/)
})

test('exponential aliases and oversized files are refused', () => {
  const nine = (name: string) => `[${Array(9).fill(name).join(', ')}]`
  const bomb = `a: &a ${nine('x')}\nb: &b ${nine('*a')}\nc: &c ${nine('*b')}\nd: ${nine('*c')}\n`

  for (const text of [bomb, `# ${'x'.repeat(1024 * 1024)}`]) {
    using place = openPlace(text)
    assert.throws(() => loadConfig({}, place.dir), { name: 'BadConfig' })
  }
})

test('all mistakes of a file are reported at once, in the order of its lines', () => {
  using place = openPlace(`providers:
  - { id: a, kind: openai, base_url: "http://a", api_key: "\${NOT_SET}" }
  - { id: b, kind: opnai, base_ur: "http://a" }
models:
  - id: m
    context_length: many
    context_length: 5
    pricing: { prompt: x, completion: "0.1" }
    targets: [{ provider: z, model: y }]
  - id: n
markup: abc
explian: true
drain_max: -1
`)

  assert.throws(
    () => loadConfig({}, place.dir),
    (error: Error & { problems?: readonly { line?: number; column?: number; file?: string; message: string }[] }) => {
      const lines = error.problems?.map(({ line, message }) => `${line} ${message.split(':')[0]}`)
      assert.deepEqual(lines, [
        '2 providers[0].api_key',
        '3 providers[1].kind',
        '3 providers[1].base_ur',
        '7 models[0].context_length',
        '8 models[0].pricing.prompt',
        '10 models[1].context_length',
        '10 models[1].pricing',
        '10 models[1].targets',
        '11 markup',
        '12 explian',
        '13 drain_max',
      ])
      const [file] = error.problems?.map(problem => problem.file) ?? []
      assert.equal(error.message.split('\n').length, 11)
      return error.message.split('\n').every(line => line.startsWith(`${file}:`))
    },
  )
})

test('of a file whose shape is right, each entry has its first broken rule', () => {
  const model = (id: string, provider: string) =>
    `  - { id: ${id}, context_length: 5, max_output_tokens: 3, pricing: { prompt: "0", completion: "0" }, targets: [{ provider: ${provider}, model: x }] }`
  using place = openPlace(`providers:
  - { id: a, kind: openai, base_url: "http://a" }
  - { id: a, kind: openai, base_url: "http://a" }
models:
${model('m', 'z')}
${model('m', 'a')}
trusted_proxies: [nowhere]
`)

  assert.deepEqual(placesOf(place.dir), [
    '3 providers[1].id',
    '5 models[0].targets[0].provider',
    '6 models[1].id',
    '7 trusted_proxies[0]',
  ])
})

test('what has a wrong shape hides no broken rule elsewhere, and causes none', () => {
  const model = (id: string, provider: string) =>
    `  - { id: ${id}, context_length: 5, max_output_tokens: 3, pricing: { prompt: "0", completion: "0" }, targets: [{ provider: ${provider}, model: x }] }`
  using place = openPlace(`providers:
  - { id: a, kind: opnai, base_url: "http://a" }
  - { id: b, kind: openai, base_url: "http://b", region: x }
  - { id: b, kind: openai, base_url: "http://b" }
models:
${model('m', 'a')}
${model('n', 'z')}
  - { id: m }
drain_max: -1
trusted_proxies: [nowhere]
cors_origins: ["https://app.example.com/"]
`)

  assert.deepEqual(placesOf(place.dir), [
    '2 providers[0].kind',
    '3 providers[1].region',
    '4 providers[2].id',
    '7 models[1].targets[0].provider',
    '8 models[2].context_length',
    '8 models[2].pricing',
    '8 models[2].targets',
    '8 models[2].id',
    '9 drain_max',
    '10 trusted_proxies[0]',
    '11 cors_origins[0]',
  ])
})

test('without a list of providers, or with one that has no id, no model names an unknown one', () => {
  const models = `models:
  - { id: m, context_length: 5, max_output_tokens: 3, pricing: { prompt: "0", completion: "0" }, targets: [{ provider: z, model: x }] }
`
  for (const providers of ['providers: all', 'providers: [{ kind: demo }]']) {
    using place = openPlace(`${providers}\n${models}`)

    assert.throws(
      () => loadConfig({}, place.dir),
      (error: Error) => !/models/.test(error.message) && /providers/.test(error.message),
      providers,
    )
  }
})

test('a file with very many mistakes reports the first and how many more there are', () => {
  using place = openPlace(`providers:\n${'  - { id: 5 }\n'.repeat(200)}`)

  assert.throws(
    () => loadConfig({}, place.dir),
    (error: Error) => error.message.split('\n').length === 51 && /has \d+ more mistakes$/.test(error.message),
  )
})

// Line and key of each mistake.
function placesOf(dir: string): readonly (string | undefined)[] {
  try {
    loadConfig({}, dir)
  } catch (error) {
    const lines = (error as Error).message.split('\n')
    return lines.map(line => /^.*?:(\d+):\d+: (\S+):/.exec(line)?.slice(1).join(' '))
  }
  return []
}
