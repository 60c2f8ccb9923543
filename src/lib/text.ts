// Small functions on text: trimming without quadratic time, names in snake case, characters that are not seen, and errors for the
// log.

// Removes a repeated character from the end of a text. A loop, since the pattern `x+$` takes quadratic time on a long run of that
// character that does not end the text.
export function withoutTrailing(text: string, character: string): string {
  const code = character.charCodeAt(0)
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) === code) end -= 1
  return text.slice(0, end)
}

// Converts names of the code to the configuration file and the API: `baseUrl` becomes `base_url`.
export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
}

// Control characters, line separators and characters that change the direction of text, as escapes: `\u202e`. Those that join
// letters and emoji stay.
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, char => {
    const units = Array.from({ length: char.length }, (_, at) => char.charCodeAt(at).toString(16).padStart(4, '0'))
    return units.map(hex => `\\u${hex}`).join('')
  })
}

// Control characters of a text of several lines, which may be in any script. A lone carriage return would write over its line.
export function escapeControls(text: string): string {
  return text.replace(CONTROLS, char => (char === '\r' ? '' : escapeUnseen(char)))
}

const CONTROLS = /[^\P{Cc}\n\t]/gu
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}]|(?![\u200c\u200d])\p{Cf}/gu

// Formats an error for the log, with its stack; never for a caller.
export function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
