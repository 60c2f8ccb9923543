// A counted word is a word for tokenizers too: no text has fewer tokens than words.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countTokens as cl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as o200k } from 'gpt-tokenizer/encoding/o200k_base'
import { wordCount } from '../../src/domain/prompt.ts'

const TEXTS = {
  Hindi: 'नमस्ते दुनिया, यह एक परीक्षण है। ',
  Bengali: 'ওহে বিশ্ব, এটি একটি পরীক্ষা। ',
  Tamil: 'வணக்கம் உலகம், இது ஒரு சோதனை. ',
  Thai: 'สวัสดีชาวโลก นี่คือการทดสอบ ',
  Arabic: 'مَرْحَبًا بِالعَالَم هذا اختبار ',
  Persian: 'می\u200cخواهم کتاب\u200cها را ',
  English: "don't won’t it's 12:30 a-b ",
  accents: 'e\u0301te\u0301 ',
  emoji: '👩‍👩‍👧 ok ',
}

for (const [name, text] of Object.entries(TEXTS)) {
  test(`${name}: no more words than tokens`, () => {
    const many = text.repeat(50)
    const words = wordCount(many, Number.MAX_SAFE_INTEGER)

    assert.ok(words > 0)
    assert.ok(
      words <= o200k(many) && words <= cl100k(many),
      `${words} words, ${o200k(many)} and ${cl100k(many)} tokens`,
    )
  })
}

test('it stops at the given maximum', () => {
  assert.equal(wordCount('a b c d', 2), 2)
})
