// Providers detected by their usual variables: each is complete, and nothing is loaded or invented for the others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detectProviders } from '../../src/config/detect-providers.ts'
import { formatPrice } from '../../src/domain/credits.ts'

const VARIABLES = `OPENAI ANTHROPIC GEMINI GROQ MISTRAL DEEPSEEK XAI OPENROUTER TOGETHER FIREWORKS COHERE`
  .split(' ')
  .map(name => `${name}_API_KEY`)

test('each variable gives its provider with models at list price, under unique names', () => {
  const env = Object.fromEntries(VARIABLES.map(name => [name, `key-of-${name}`]))

  const { providers, models, found, unusable } = detectProviders(env)

  assert.deepEqual([found.map(({ variable }) => variable), unusable], [VARIABLES, []])
  for (const { variable, provider, models: own } of found) {
    const { baseUrl, credentials } = providers.find(({ id }) => id === provider) ?? assert.fail(provider)
    assert.match(baseUrl, /^https:\/\//)
    assert.equal(credentials[0]?.secret, `key-of-${variable}`)
    assert.ok(own.length > 0 && own.every(id => id.startsWith(`${provider}/`)), variable)
  }
  const names = models.flatMap(({ id, aliases }) => [id, ...aliases])
  assert.equal(new Set(names).size, names.length)
  for (const { prices, maxOutputTokens, contextLength } of models) {
    assert.ok(prices.prompt > 0n && prices.completion > 0n && maxOutputTokens <= contextLength)
  }
  const sonnet = models.find(({ id }) => id === 'anthropic/claude-sonnet-4-5') ?? assert.fail('sonnet is offered')
  const { prompt, tiers = [] } = sonnet.prices
  const offered = [formatPrice(prompt), formatPrice(tiers[0]?.prompt ?? 0n), sonnet.aliases]
  assert.deepEqual(offered, ['0.000003', '0.000006', ['claude-sonnet-4-5']])
  assert.deepEqual(sonnet.targets[0]?.cost?.tiers?.length, 1)
})

test('an empty variable counts as unset, and an invalid key is named without its value', () => {
  const { providers, unusable } = detectProviders({ OPENAI_API_KEY: '', GROQ_API_KEY: 'two words', HOME: '/root' })

  assert.deepEqual(providers, [])
  assert.deepEqual(
    unusable.map(({ variable }) => variable),
    ['GROQ_API_KEY'],
  )
  assert.ok(!JSON.stringify(unusable).includes('two words'))
})
