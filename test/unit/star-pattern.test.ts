// Patterns with stars: what they match, and in linear time.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { starPattern } from '../../src/lib/star-pattern.ts'

test('a star matches any text, and everything else matches itself', () => {
  const cases: readonly (readonly [pattern: string, text: string, isMatch: boolean])[] = [
    ['*', '', true],
    ['gpt-4*', 'gpt-4o', true],
    ['gpt-4*', 'a gpt-4o', false],
    ['*-mini', 'gpt-4o-mini', true],
    ['*-mini', 'gpt-4o-mini-x', false],
    ['*4*mini', 'gpt-4o-mini', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['ab*bc', 'abc', false],
    ['a*a', 'a', false],
    ['**', 'x', true],
    ['g.t*', 'gpt-4', false],
    ['x', 'xx', false],
  ]
  for (const [pattern, text, isMatch] of cases) assert.equal(starPattern(pattern)(text), isMatch, `${pattern} ${text}`)
})

test('many stars take as long as one', () => {
  const matches = starPattern(`${'*a'.repeat(64)}*b`)
  const began = performance.now()

  assert.equal(matches('a'.repeat(10_000)), false)

  assert.ok(performance.now() - began < 500)
})
