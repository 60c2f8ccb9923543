// The configuration: omitted settings have defaults, invalid ones are refused by name, and nothing is guessed.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadClientEnv, loadDataDir } from '../../src/config/command-env.ts'
import { loadConfig } from '../../src/config/config.ts'

const GOOD = `providers:
  - { id: openai, kind: openai, base_url: "https://api.openai.com/v1/", api_key: "\${OPENAI_API_KEY}" }
  - { id: local,  kind: openai, base_url: "http://127.0.0.1:11434/v1", passthrough: [keep_alive], timeouts: { connect: 0.5 } }
models:
  - id: gpt-4o-mini
    aliases: [mini]
    context_length: 128000
    max_output_tokens: 16384
    pricing: { prompt: "0.00000015", completion: 0.0000006, input_cache_read: 0.000000075 }
    targets:
      - { provider: openai, model: gpt-4o-mini, priority: 0, weight: 2 }
      - { provider: local,  model: llama3.1,    priority: 1 }
defaults: { rpm_limit: 60, daily_limit: null, credit_limit: 12.5 }
brand: { key_prefix: "acme_", header_prefix: "X-Acme-" }
drain_delay: 0.25
`
const ENV = { OPENAI_API_KEY: 'sk-canary' }

test('without file and variables every setting has its default', () => {
  using place = openPlace()

  const config = loadConfig({}, place.dir)

  const { host, port, dataDir, configFile, catalog, brand, defaults, logLevel } = config
  assert.deepEqual(
    { host, port, configFile, catalog, logLevel },
    {
      host: '127.0.0.1',
      port: 8080,
      configFile: undefined,
      catalog: undefined,
      logLevel: 'info',
    },
  )
  assert.equal(dataDir, join(place.dir, 'data'))
  assert.deepEqual(brand, { keyPrefix: 'svc_live_', headerPrefix: 'X-Svc-' })
  assert.deepEqual([defaults.rpmLimit, defaults.dailyLimit, defaults.creditLimit], [300, 10_000, null])
  assert.equal(config.bounds.bodyBytesMax, 16 * 1024 * 1024)
})

test('the file in the working directory is found, and its prices are exact', () => {
  using place = openPlace(GOOD)

  const config = loadConfig(ENV, place.dir)

  const [openai, local] = config.catalog!.providers
  const model = config.catalog!.models[0]!
  assert.deepEqual(model.prices, {
    prompt: 150_000n,
    completion: 600_000n,
    cacheRead: 75_000n,
    cacheWrite: 150_000n,
    request: 0n,
  })
  assert.deepEqual(model.targets[0], { provider: 'openai', model: 'gpt-4o-mini', priority: 0, weight: 2 })
  assert.deepEqual(model.targets[1], { provider: 'local', model: 'llama3.1', priority: 1, weight: 1 })
  assert.deepEqual(
    [openai?.credentials[0]?.secret, openai?.baseUrl, openai?.maxTokensField],
    ['sk-canary', 'https://api.openai.com/v1', 'max_completion_tokens'],
  )
  assert.deepEqual(
    [local?.credentials[0]?.secret, local?.timeouts.connectMs, local?.maxTokensField],
    [undefined, 500, 'max_tokens'],
  )
  assert.deepEqual(
    [config.defaults.rpmLimit, config.defaults.dailyLimit, config.defaults.creditLimit],
    [60, null, 12_500_000_000n],
  )
  assert.equal(config.brand.headerPrefix, 'X-Acme-')
  assert.equal(config.bounds.drainDelayMs, 250)
  assert.equal(config.usageRetentionDays, null)
})

test('prices are accepted up to 90 million credits for the most expensive request', () => {
  using place = openPlace(GOOD.replace('"0.00000015"', '700').replace('0.0000006', '3'))

  const { prices, contextLength, maxOutputTokens } = loadConfig({ ...ENV }, place.dir).catalog!.models[0]!

  const highest = BigInt(contextLength) * prices.prompt + 8n * BigInt(maxOutputTokens) * prices.completion
  assert.ok(highest < 9n * 10n ** 19n && highest > 89n * 10n ** 18n, 'pico-credits, just below the bound')
})

test('prices in the file are dollars, converted with both factors and rounded up once', () => {
  using quoted = openPlace(`credits_per_usd: "100"\nmarkup: "1.250001"\n${GOOD}`)
  using bare = openPlace(`markup: 1.250001\ncredits_per_usd: 100\n${GOOD}`)

  const { prices } = loadConfig(ENV, quoted.dir).catalog!.models[0]!

  assert.deepEqual(prices, {
    prompt: 18_750_015n,
    completion: 75_000_060n,
    cacheRead: 9_375_008n,
    cacheWrite: 18_750_015n,
    request: 0n,
  })
  assert.deepEqual(loadConfig(ENV, bare.dir).catalog!.models[0]!.prices, prices)
})

test('a target may state its cost in dollars: converted with the rate and without the markup, exactly', () => {
  const cost = 'cost: { prompt: "0.000000100001", completion: 0.0000005, request: 0.000000000001 }'
  using place = openPlace(`credits_per_usd: 12.000005\nmarkup: 3\n${GOOD.replace('weight: 2', `weight: 2, ${cost}`)}`)

  const [stated, silent] = loadConfig(ENV, place.dir).catalog!.models[0]!.targets

  const prompt = 100_001n * 12_000_005n
  assert.deepEqual(stated?.cost, {
    prompt,
    completion: 500_000n * 12_000_005n,
    cacheRead: prompt,
    cacheWrite: prompt,
    request: 12_000_005n,
  })
  assert.deepEqual(silent, { provider: 'local', model: 'llama3.1', priority: 1, weight: 1 })
})

test('tiers in the file need no quotes, and have both factors', () => {
  const tiers = 'tiers: [{ above_prompt_tokens: 100000, prompt: 0.0000003, completion: "0.0000012" }]'
  using place = openPlace(`markup: 2\n${GOOD.replace('input_cache_read: 0.000000075', tiers)}`)

  const { tiers: read } = loadConfig(ENV, place.dir).catalog!.models[0]!.prices

  const rates = { prompt: 600_000n, completion: 2_400_000n, cacheRead: 600_000n, cacheWrite: 600_000n }
  assert.deepEqual(read, [{ abovePromptTokens: 100_000, ...rates }])
})

test('the bound on prices applies after the factors', () => {
  const dear = GOOD.replace('"0.00000015"', '"704"')
  using cheaper = openPlace(`markup: 0.5\n${dear}`)
  using pricier = openPlace(`credits_per_usd: 1000000\nmarkup: 10\n${GOOD.replace('"0.00000015"', '"0.0000704"')}`)
  using beyond = openPlace(`credits_per_usd: 1000000\nmarkup: 1000000\n${GOOD.replace('"0.00000015"', '"0.00001"')}`)

  assert.equal(loadConfig(ENV, cheaper.dir).catalog!.models[0]!.prices.prompt, 352n * 10n ** 12n)
  assert.throws(
    () => loadConfig(ENV, pricier.dir),
    /:11:\d+: models\[0\]\.pricing: is too high: .*90000000 is the most/,
  )
  assert.throws(
    () => loadConfig(ENV, beyond.dir),
    /:11:\d+: models\[0\]\.pricing\.prompt: is too high: .* 9000000 credits/,
  )
})

test('the configuration is deeply frozen', () => {
  using place = openPlace(GOOD)

  const config = loadConfig(ENV, place.dir)

  const thawed = (value: unknown): boolean =>
    typeof value === 'object' && value !== null && (!Object.isFrozen(value) || Object.values(value).some(thawed))
  assert.equal(thawed(config), false)
})

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

test('ordinary anchors and aliases are resolved, and an empty file declares nothing', () => {
  using place = openPlace('defaults: &d { rpm_limit: 7 }\ncors_origins: []\n')
  using empty = openPlace('# nothing yet\n')

  assert.equal(loadConfig({}, place.dir).defaults.rpmLimit, 7)
  const { providers, models } = loadConfig({}, empty.dir).catalog ?? assert.fail('an empty file is a file')
  assert.deepEqual([providers, models], [[], []])
})

const BAD_VARIABLES: readonly (readonly [name: string, value: string])[] = [
  ['TURNPIKE_PROT', '8080'],
  ['TURNPIKE_PORT', '99999'],
  ['TURNPIKE_HOST', 'a b'],
  ['TURNPIKE_ADMIN_LISTEN', 'everywhere'],
  ['TURNPIKE_CONFIG', 'no-such-file.yaml'],
  ['TURNPIKE_ADMIN_TOKEN', 'fifteen-letters'],
  ['TURNPIKE_ADMIN_TOKEN', 'sixteen letters and blanks'],
  ['TURNPIKE_ENCRYPTION_KEY', 'abc'],
  ['TURNPIKE_TRUSTED_PROXIES', '10.0.0.0/8,10.0.0.999'],
  ['TURNPIKE_WORKERS', '2'],
  ['TURNPIKE_WORKERS', '0'],
  ['TURNPIKE_WORKERS', 'many'],
  ['TURNPIKE_NODE_NAME', 'a b'],
  ['TURNPIKE_DETECT_PROVIDERS', 'maybe'],
  ['TURNPIKE_LOG_LEVEL', 'loud'],
  ['TURNPIKE_FAILPOINTS', 'after_hold=explode'],
  ['DATABASE_URL', 'postgres://localhost/x'],
  ['DATABASE_URL', 'mysql://localhost/x'],
  ['REDIS_URL', 'localhost:6379'],
  ['REDIS_URL', 'http://localhost:6379'],
  ['REDIS_URL', 'redis:///0'],
  ['REDIS_URL', 'redis://localhost:99999'],
  ['REDIS_URL', 'redis://localhost/main'],
  ['REDIS_URL', 'redis://localhost/0?family=6'],
  ['REDIS_URL', 'redis://user:%zz@localhost'],
]

for (const [name, value] of BAD_VARIABLES) {
  test(`${name}=${value} is refused by name`, () => {
    using place = openPlace()

    assert.throws(() => loadConfig({ [name]: value }, place.dir), {
      name: 'BadConfig',
      message: new RegExp(`^${name}\\b`),
    })
  })
}

test('REDIS_URL is accepted with a user, a password and a database, and an error does not repeat the password', () => {
  using place = openPlace()

  for (const url of ['redis://localhost', 'rediss://me:se%40cret@[::1]:6380/15', 'redis://:se%40cret@cache/']) {
    assert.equal(loadConfig({ REDIS_URL: url }, place.dir).redisUrl, url)
  }
  assert.throws(
    () => loadConfig({ REDIS_URL: 'redis://me:hunter2@localhost/main' }, place.dir),
    (error: Error) => error.name === 'BadConfig' && !error.message.includes('hunter2'),
  )
})

test('DATABASE_URL is accepted if the encryption key and the admin token are set too, and an error does not repeat its password', () => {
  using place = openPlace()
  const url = 'postgres://user:pa55word@localhost/x'
  const shared = { TURNPIKE_ENCRYPTION_KEY: 'ab'.repeat(32), TURNPIKE_ADMIN_TOKEN: 'sixteen-letters-' }

  assert.equal(loadConfig({ DATABASE_URL: url, ...shared }, place.dir).databaseUrl, url)
  for (const missing of Object.keys(shared)) {
    assert.throws(
      () => loadConfig({ DATABASE_URL: url, ...shared, [missing]: undefined }, place.dir),
      (error: Error) => error.message.includes(missing) && !error.message.includes('pa55word'),
    )
  }
  assert.throws(() => loadDataDir({ DATABASE_URL: url }, place.dir), /this command is for SQLite/)
})

test('variables that Kubernetes injects for a service named turnpike are ignored', () => {
  using place = openPlace()

  const config = loadConfig(
    {
      TURNPIKE_SERVICE_HOST: '10.0.0.1',
      TURNPIKE_PORT: 'tcp://10.0.0.1:8080',
      TURNPIKE_PORT_8080_TCP_ADDR: '10.0.0.1',
      TURNPIKE_EXTRA: 'tcp://10.0.0.1:9090',
    },
    place.dir,
  )

  assert.equal(config.port, 8080)
})

test('variables are parsed to their values', () => {
  using place = openPlace('trusted_proxies: [192.0.2.1]\n')

  const config = loadConfig(
    {
      TURNPIKE_PORT: '0',
      TURNPIKE_HOST: '',
      TURNPIKE_ADMIN_LISTEN: '[::1]:9090',
      TURNPIKE_TRUSTED_PROXIES: '10.0.0.0/8, ::1',
      TURNPIKE_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      TURNPIKE_FAILPOINTS: 'after_hold=throw*2,before_settle=sleep:100',
      TURNPIKE_DETECT_PROVIDERS: '0',
    },
    place.dir,
  )

  assert.deepEqual([config.port, config.host, config.adminListen], [0, '127.0.0.1', { host: '::1', port: 9090 }])
  assert.deepEqual(config.trustedProxies, ['10.0.0.0/8', '::1'])
  assert.equal(config.encryptionKey, '07'.repeat(32))
  assert.deepEqual(config.failpoints, {
    after_hold: { action: 'throw', times: 2 },
    before_settle: { action: 'sleep', ms: 100 },
  })
})

test("the CLI's client has a URL and a token, and no credentials in the URL", () => {
  const unset = { url: undefined, adminToken: undefined, apiKey: undefined, profile: undefined }
  assert.deepEqual(loadClientEnv({}), unset)
  assert.equal(loadClientEnv({ TURNPIKE_URL: 'https://gw.example/' }).url, 'https://gw.example')
  assert.throws(() => loadClientEnv({ TURNPIKE_URL: 'http://a:b@gw.example' }), { name: 'BadConfig' })
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

  assert.throws(
    () => loadConfig({}, place.dir),
    (error: Error) => {
      const keys = error.message.split('\n').map(line => /^.*?:(\d+):\d+: (\S+):/.exec(line)?.slice(1).join(' '))
      assert.deepEqual(keys, [
        '3 providers[1].id',
        '5 models[0].targets[0].provider',
        '6 models[1].id',
        '7 trusted_proxies[0]',
      ])
      return true
    },
  )
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

  assert.throws(
    () => loadConfig({}, place.dir),
    (error: Error) => {
      const keys = error.message.split('\n').map(line => /^.*?:(\d+):\d+: (\S+):/.exec(line)?.slice(1).join(' '))
      assert.deepEqual(keys, [
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
      return true
    },
  )
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

function openPlace(yaml?: string) {
  const dir = mkdtempSync(join(tmpdir(), 'turnpike-config-'))
  if (yaml !== undefined) writeFileSync(join(dir, 'turnpike.yaml'), yaml)
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true }) }
}
