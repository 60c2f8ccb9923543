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
  assert.equal(without('Unknown `fox` and "bear"'), 'Unknown `[content]` and "bear"')
})

test('words that occur in any text are kept', () => {
  const text = 'The server had an error today; try again, world.'
  assert.equal(without(text), text)
})

test('prompts that are too long are not compared', () => {
  assert.equal(withoutQuotations('Rejected', ['a'.repeat(600), 'b'.repeat(401)], 1000), undefined)
})

test('of a random prompt no dozen letters are left, wherever it is quoted', () => {
  const words = fc.array(fc.stringMatching(/^[a-z0-9]{1,9}$/), { minLength: 4, maxLength: 40 })
  fc.assert(
    fc.property(words, words, words, (before, prompt, after) => {
      const text = withoutQuotations([...before, ...prompt, ...after].join(', '), [prompt.join(' ')], 10_000) ?? ''
      const letters = prompt.join('')
      const left = text.replaceAll('[content]', '\n').replace(/[^a-z0-9\n]/g, '')
      for (let i = 0; i + 12 <= letters.length; i++) assert.ok(!left.includes(letters.slice(i, i + 12)))
    }),
  )
})
