// The words of a text, each with its leading blanks: what the built-in provider counts as tokens. One pass, whatever the text.

// A longer word is several tokens, so that an answer is in proportion to its cost.
const WORD_CHARS_MAX = 64

// The end of each word, for the first `max` words.
export function wordEnds(text: string, max: number): readonly number[] {
  const ends: number[] = []
  let at = 0
  while (ends.length < max) {
    at = nextEnd(text, at)
    if (at < 0) break
    ends.push(at)
  }
  return ends
}

export function countWords(text: string): number {
  let count = 0
  for (let at = nextEnd(text, 0); at >= 0; at = nextEnd(text, at)) count += 1
  return count
}

// The end of the word that begins at or after `at`; -1 if only blanks are left.
function nextEnd(text: string, at: number): number {
  const { length } = text
  let i = at
  while (i < length && BLANK[text.charCodeAt(i)] === 1) i++
  if (i === length) return -1
  const most = Math.min(length, i + WORD_CHARS_MAX)
  while (i < most && BLANK[text.charCodeAt(i)] === 0) i++
  // A surrogate pair is not split.
  return i < length && isHighSurrogate(text.charCodeAt(i - 1)) ? i + 1 : i
}

// What `\s` matches, by code: a table, since it is used for millions of characters.
const BLANK = new Uint8Array(0x10000)
for (const code of [0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]) {
  BLANK[code] = 1
}
BLANK.fill(1, 0x2000, 0x200b)

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
