// Suggests the known word that a misspelled one was probably meant to be.

// A longer word is no misspelling of a command or option.
const WORD_CHARS_MAX = 40

export function suggest(word: string, known: readonly string[]): string | undefined {
  if (word.length > WORD_CHARS_MAX) return undefined
  const meant = word.toLowerCase()
  const begun = known.filter(each => meant.length >= 3 && each.startsWith(meant))
  if (begun.length === 1) return begun[0]
  const [best] = known
    .map(each => ({ each, edits: editsBetween(meant, each) }))
    .filter(({ each, edits }) => edits <= Math.max(1, Math.floor(Math.max(each.length, meant.length) / 3)))
    .sort((a, b) => a.edits - b.edits)
  return best?.each
}

// `; did you mean "list"?`, or nothing.
export function didYouMean(word: string, known: readonly string[], prefix = ''): string {
  const meant = suggest(word, known)
  return meant === undefined ? '' : `; did you mean ${prefix}${meant}?`
}

// Insertions, deletions, substitutions and swaps of neighbours.
function editsBetween(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      row[j] = Math.min((row[j - 1] ?? 0) + 1, (last[j] ?? 0) + 1, (last[j - 1] ?? 0) + same)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwap) row[j] = Math.min(row[j] ?? 0, (before[j - 2] ?? 0) + 1)
    }
    before = last
    last = row
  }
  return last[b.length] ?? 0
}
