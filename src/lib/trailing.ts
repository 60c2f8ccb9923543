// A text without the same character repeated at its end. A loop, since the pattern `x+$` takes quadratic time on a long row of
// that character which does not end the text.
export function withoutTrailing(text: string, character: string): string {
  const code = character.charCodeAt(0)
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === code) end -= 1
  return text.slice(0, end)
}
