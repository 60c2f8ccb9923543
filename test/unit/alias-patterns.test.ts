// Aliases with stars: which model a name reaches, what is refused, and that the work is bounded.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidDocument, readModel } from '../../src/catalog/document.ts'
import { AT_PAR } from '../../src/domain/dollars.ts'
import { catalogOf } from '../../src/route/catalog.ts'
import { model, provider } from '../support/catalog.ts'

const named = (aliases: Readonly<Record<string, readonly string[]>>) =>
  catalogOf(
    {
      providers: [provider('up')],
      models: Object.entries(aliases).map(([id, own]) => ({
        ...model(id, { aliases: own, targets: [{ provider: 'up', model: id, priority: 0, weight: 1 }] }),
        createdAt: 0,
        priceVersion: 'v',
      })),
    },
    new Map(),
  )

test('ids and exact aliases win over patterns, and the longest pattern over others', () => {
  const catalog = named({
    sonnet: ['claude-sonnet-*', 'exact'],
    haiku: ['claude-*', 'e*'],
    'claude-sonnet-4': [],
    any: ['*'],
  })
  const served = (name: string) => catalog.model(name)?.id

  for (const again of [1, 2]) {
    assert.deepEqual(
      ['sonnet', 'claude-sonnet-4', 'claude-sonnet-4-5', 'claude-haiku', 'exact', 'exactly', 'gpt', ''].map(served),
      ['sonnet', 'claude-sonnet-4', 'sonnet', 'haiku', 'sonnet', 'haiku', 'any', 'any'],
      `time ${again}`,
    )
  }
  assert.equal(served('claude-sonnet-*'), 'sonnet')
  assert.equal(served('x'.repeat(257)), undefined)
})

test('of equally long patterns the first in the alphabet wins, whatever the order of the models', () => {
  const one = named({ a: ['*-mini'], b: ['gpt-4*'] })
  const other = named({ b: ['gpt-4*'], a: ['*-mini'] })

  assert.deepEqual([one.model('gpt-4-mini')?.id, other.model('gpt-4-mini')?.id], ['a', 'a'])
})

test('a catalog without patterns knows no other names', () => {
  assert.equal(named({ a: ['b'] }).model('c'), undefined)
})

test('names are remembered within a bound, and a thousand patterns cost little', () => {
  const many = Array.from({ length: 1000 }, (_, at) => [`m${at}`, [`*a*b*c-${at}*`]] as const)
  const catalog = named(Object.fromEntries(many))
  const name = 'ab'.repeat(128)
  const startedMs = performance.now()

  for (let at = 0; at < 100; at++) assert.equal(catalog.model(`${name.slice(4)}${at}`), undefined)

  assert.ok(performance.now() - startedMs < 1000)
})

const known = { providers: new Set(['up']), exchange: AT_PAR }
const document = (aliases: readonly string[]) => ({
  id: 'm',
  aliases,
  context_length: 10,
  max_output_tokens: 5,
  pricing: { prompt: '0', completion: '0' },
  targets: [{ provider: 'up', model: 'm' }],
})
const REFUSED: readonly (readonly [name: string, alias: string, problem: RegExp])[] = [
  ['two stars in a row', 'a**b', /two stars in a row/],
  ['five stars', '*a*b*c*d*', /at most 4 stars/],
  ['ten thousand stars', '*a'.repeat(10_000), /1 to 256/],
  ['another character', 'a?b', /1 to 256/],
]
for (const [name, alias, problem] of REFUSED) {
  test(`an alias with ${name} is refused`, () => {
    assert.throws(
      () => readModel(document([alias]), known),
      (error: unknown) => error instanceof InvalidDocument && problem.test(error.message),
    )
  })
}

test('an alias with four stars is accepted, and the same one twice is refused', () => {
  assert.deepEqual(readModel(document(['*a*b*c*']), known).aliases, ['*a*b*c*'])
  assert.throws(() => readModel(document(['a*', 'a*']), known), /"a\*" is taken already/)
})
