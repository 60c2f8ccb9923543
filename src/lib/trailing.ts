// Removes a repeated character from the end of a text. A loop, since the pattern `x+$` takes quadratic time on a long run of that
// character that does not end the text.
export function withoutTrailing(text: string, character: string): string {
  const code = character.charCodeAt(0)
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === code) end -= 1
  return text.slice(0, end)
}
