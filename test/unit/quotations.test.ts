// What a provider's message quotes of a prompt is removed, however it is spaced; the message's own words stay.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { withoutQuotations } from '../../src/lib/quotations.ts'

const PROMPT = 'Dear diary,\n\n  today "the quick brown fox" jumped; hello world. Straße nach Übersee.'
const without = (text: string) => withoutQuotations(text, ['Something else', PROMPT], 1000)

test('a long quotation is removed with its punctuation, and what is around it stays', () => {
  assert.equal(without('Rejected: dear diary today the quick brown fox (code 7)'), 'Rejected: [content] (code 7)')
  assert.equal(without(`Rejected: ${PROMPT}`), 'Rejected: [content].')
  assert.equal(without('Straße-nach-Übersee!'), '[content]!')
})

test('a quoted word is removed if the prompt has it, and kept otherwise', () => {
  assert.equal(without("Invalid 'hello' for 'role'"), "Invalid '[content]' for 'role'")
  assert.equal(without('Invalid "the qui..." or "today…"'), 'Invalid "[content]" or "[content]"')
  assert.equal(without('Unknown `fox` and "bear"'), 'Unknown `[content]` and "bear"')
})

test('of many quoted words, those that are not compared are removed', () => {
  const text = without(`${"'bear' ".repeat(16)}'hello' 'bear'`)
  assert.equal(text, `${"'bear' ".repeat(16)}'[content]' '[content]'`)
})

test('words that occur in any text are kept', () => {
  const text = 'The server had an error today; try again, world.'
  assert.equal(without(text), text)
})

test('a short text is removed whole where it stands as words of its own', () => {
  const of = (text: string, ...sources: string[]) => withoutQuotations(text, sources, 1000)
  assert.equal(of('Bad input: PIN 4711, sorry', 'pin 4711\n'), 'Bad input: [content], sorry')
  assert.equal(of('Bad input: a.b(c)*', 'a.b(c)'), 'Bad input: [content]*')
  assert.equal(of('The category is unknown', 'cat', 'is'), 'The category is unknown')
})

test('what is quoted with escapes is removed too', () => {
  for (const quoted of [
    'Stra\\u00dfe nach \\u00dcbersee',
    'Stra\\xdfe\\nnach %C3%9Cbersee',
    'Stra%C3%9Fe%20nach%20%C3%9Cbersee',
  ])
    assert.equal(without(`Refusal: ${quoted}!`), 'Refusal: [content]!')
  assert.equal(without('50%ff \\d'), '50%ff \\d')
})

test('short texts of other fields are words of any message', () => {
  const text = withoutQuotations("Expected string for 'city' of get_my_weather_now", ['x'], 1000, [
    'string',
    'city',
    'get_my_weather_now',
  ])
  assert.equal(text, "Expected string for '[content]' of [content]")
})

test('prompts that are too long are not compared', () => {
  assert.equal(withoutQuotations('Rejected', ['a'.repeat(600), 'b'.repeat(401)], 1000), undefined)
})

test('of a random prompt no dozen letters are left, wherever it is quoted', () => {
  const words = fc.array(fc.stringMatching(/^[a-z0-9]{1,9}$/), { minLength: 4, maxLength: 40, size: 'max' })
  fc.assert(
    fc.property(words, words, words, (before, prompt, after) => {
      const text = withoutQuotations([...before, ...prompt, ...after].join(', '), [prompt.join(' ')], 10_000) ?? ''
      const letters = prompt.join('')
      const left = text.replaceAll('[content]', '\n').replace(/[^a-z0-9\n]/g, '')
      for (let i = 0; i + 12 <= letters.length; i++) assert.ok(!left.includes(letters.slice(i, i + 12)))
    }),
  )
})
