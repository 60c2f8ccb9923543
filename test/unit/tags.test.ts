// The header with a request's tags, how tags are written, and which names and values they may have.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isTagValue, readTagFilter, readTagsHeader, rowTags, writeTags } from '../../src/domain/tags.ts'

const name = fc.stringMatching(/^[a-z0-9_.-]{1,32}$/)
const value = fc.stringMatching(/^[!-+\--~]([ -+\--~]{0,62}[!-+\--~])?$/)

test('every list of up to eight valid tags is read as it was written', () => {
  const pairs = fc.uniqueArray(fc.tuple(name, value), { minLength: 1, maxLength: 8, selector: ([each]) => each })
  fc.assert(
    fc.property(pairs, fc.constantFrom(',', ', ', ' ,\t'), (tags, comma) => {
      const header = tags.map(([each, of]) => `${each}=${of}`).join(comma)
      const read = readTagsHeader(header)
      assert.ok(typeof read === 'object', String(read))
      assert.deepEqual(Object.entries(read).sort(), [...tags].sort())
    }),
  )
})

test('any other header is a message and never an exception', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), text => {
      const read = readTagsHeader(text)
      if (typeof read === 'string') return
      for (const [each, of] of Object.entries(read)) assert.ok(/^[a-z0-9_.-]{1,32}$/.test(each) && isTagValue(of))
    }),
  )
})

test('equal tags are equal texts, with sorted names, also names that are numbers or properties of objects', () => {
  const tags = JSON.parse('{"b":"2","10":"x","9":"y","__proto__":"p","a":"\\"q\\""}')

  const text = writeTags(tags)

  assert.equal(text, '{"10":"x","9":"y","__proto__":"p","a":"\\"q\\"","b":"2"}')
  assert.equal(writeTags(JSON.parse(text)), text)
})

test("a key's own tags win, and none at all is null", () => {
  assert.equal(rowTags({}, undefined), null)
  assert.equal(rowTags({ a: '1' }, undefined), '{"a":"1"}')
  assert.equal(rowTags({ a: '1' }, { a: '2', b: '3' }), '{"a":"1","b":"3"}')
})

test('values have visible characters, with blanks only between them', () => {
  for (const good of ['a', 'a b', 'Zürich', '\u{1f600}'.repeat(64), 'x'.repeat(64), '=,:"'])
    assert.ok(isTagValue(good), good)
  for (const bad of ['', ' a', 'a ', 'a\tb', 'a\u0000', 'a\u200bb', 'a\u00a0b', '\ud800', 'x'.repeat(65), 'a\u2028b'])
    assert.ok(!isTagValue(bad), JSON.stringify(bad))
})

test('a filter is split at its first colon', () => {
  assert.deepEqual(readTagFilter('team:a:b=c'), ['team', 'a:b=c'])
  for (const wrong of ['team', ':x', 'team:', 'Team:x', 'team: x']) assert.equal(readTagFilter(wrong), undefined)
})
