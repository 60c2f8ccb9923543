// Counts the words of a text: runs of letters, digits and characters inside words (marks, apostrophes, joiners). A table and a
// loop instead of a pattern, which needs a stack as deep as the longest word and is several times slower for emoji.

// Stops at `max` and never overcounts: a character outside the basic plane is not a word, and two words separated by one are
// counted as one.
export function wordCount(text: string, max: number): number {
  const kinds = kindsOfUnits()
  let words = 0
  let inWord = false
  for (let i = 0; i < text.length && words < max; i++) {
    const kind = kinds[text.charCodeAt(i)]
    if (kind === LETTER) {
      if (!inWord) words += 1
      inWord = true
    } else if (kind === OTHER) inWord = false
  }
  return words
}

const OTHER = 0
const LETTER = 1
// Neither starts nor ends a word: tokenizers merge across marks, apostrophes and joiners.
const INSIDE = 2

let known: Uint8Array | undefined

function kindsOfUnits(): Uint8Array {
  if (known !== undefined) return known
  known = new Uint8Array(0x10000).fill(OTHER)
  for (let unit = 0; unit < 0x10000; unit++) {
    if (unit >= 0xd800 && unit <= 0xdfff) known[unit] = INSIDE
    else if (/[\p{M}'\u2019\u200c\u200d]/u.test(String.fromCharCode(unit))) known[unit] = INSIDE
    else if (/[\p{L}\p{N}]/u.test(String.fromCharCode(unit))) known[unit] = LETTER
  }
  return known
}
