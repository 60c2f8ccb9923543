// Patterns in which `*` matches any text, in one pass whatever the pattern: each piece between two stars is matched as early as
// possible, without backtracking.
export function starPattern(pattern: string): (text: string) => boolean {
  const [first = '', ...pieces] = pattern.split('*')
  const last = pieces.pop()
  if (last === undefined) return text => text === first
  return text => {
    const end = text.length - last.length
    if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let at = first.length
    for (const piece of pieces) {
      const found = text.indexOf(piece, at)
      if (found === -1 || found + piece.length > end) return false
      at = found + piece.length
    }
    return true
  }
}
