// What the configuration makes of a file: defaults for omitted settings, and exact prices.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/config.ts'
import { ENV, GOOD, openPlace } from '../support/config-file.ts'

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
test('ordinary anchors and aliases are resolved, and an empty file declares nothing', () => {
  using place = openPlace('defaults: &d { rpm_limit: 7 }\ncors_origins: []\n')
  using empty = openPlace('# nothing yet\n')

  assert.equal(loadConfig({}, place.dir).defaults.rpmLimit, 7)
  const { providers, models } = loadConfig({}, empty.dir).catalog ?? assert.fail('an empty file is a file')
  assert.deepEqual([providers, models], [[], []])
})
