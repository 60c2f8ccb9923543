// Removes from a short text what it quotes of other texts: everything of which a dozen letters and digits in a row occur in one
// of them, whatever is between, quoted words that do, and whole texts that are shorter. One pass over the other texts.

const MARK = '[content]'
// Shorter matches are common words; words in quotation marks are compared whole.
const WINDOW = 12
const QUOTED_MAX = 16
const SHORT_MIN = 3
const SHORT_MAX = 64
const SHORT_TEXTS_MAX = 200

// Undefined if the sources are too long or too many to be compared. Of `fields`, short texts are not removed, since they are words of any error
// message.
export function withoutQuotations(
  text: string,
  sources: readonly string[],
  charsMax: number,
  fields: readonly string[] = [],
): string | undefined {
  const all = fields.length === 0 ? sources : [...sources, ...fields]
  if (all.reduce((sum, source) => sum + source.length, 0) > charsMax) return undefined
  const short = withoutShortTexts(withoutLongMatches(withoutEscapes(text), all), sources)
  return short === undefined ? undefined : withoutQuotedWords(short, all)
}

// Providers may write what they quote as `\u00fc`, `\xfc`, `\n` or `%C3%BC`.
function withoutEscapes(text: string): string {
  return text
    .replace(/\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/gi, (_, wide?: string, narrow?: string) =>
      String.fromCharCode(Number.parseInt(wide ?? narrow ?? '', 16)),
    )
    .replace(/\\[nrt]/g, ' ')
    .replace(/(?:%[0-9a-f]{2})+/gi, escaped => {
      const decoded = Buffer.from(escaped.replaceAll('%', ''), 'hex').toString()
      return decoded.includes('\ufffd') ? escaped : decoded
    })
    .replace(/\p{Cc}+/gu, ' ')
    .toWellFormed()
}

// A text with fewer than a dozen letters has no match of that length, and is compared whole. Undefined if there are too many.
function withoutShortTexts(text: string, sources: readonly string[]): string | undefined {
  let left = text
  let lower = text.toLowerCase()
  let found = 0
  for (const source of new Set(sources)) {
    if (source.length > SHORT_MAX) continue
    const words = source.trim().toLowerCase()
    if (words.length < SHORT_MIN || !lower.includes(words)) continue
    if (++found > SHORT_TEXTS_MAX) return undefined
    left = withoutWords(left, words)
    lower = left.toLowerCase()
  }
  return left
}

// Only where they are words of their own, in lower or upper case.
function withoutWords(text: string, words: string): string {
  const pattern = words.replace(/[^\p{L}\p{N}\s]/gu, '\\$&')
  return text.replace(new RegExp(`(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])`, 'giu'), MARK)
}

function withoutLongMatches(text: string, sources: readonly string[]): string {
  const { at, hashes } = windowsOf(text)
  if (hashes.length === 0) return text
  const found = findWindows(new Set(hashes), sources)
  let written = ''
  let end = 0
  for (const [i, hash] of hashes.entries()) {
    if (!found.has(hash)) continue
    const [from, to] = [at[i] as number, (at[i + WINDOW - 1] as number) + 1]
    if (from >= end) written += text.slice(end, from) + (from === end && end > 0 ? '' : MARK)
    end = to
  }
  return written + text.slice(end)
}

// The positions of letters and digits, and a hash of each dozen of them.
function windowsOf(text: string): { readonly at: readonly number[]; readonly hashes: readonly number[] } {
  const hashes: number[] = []
  eachWindow(text, hash => hashes.push(hash))
  const at = Array.from(text.split(''), (_, i) => i).filter(i => significant(text.charCodeAt(i)) !== 0)
  return { at, hashes }
}

function findWindows(wanted: ReadonlySet<number>, sources: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>()
  // Nearly every window of a source is ruled out by one look at this.
  const maybe = new Uint8Array(1 << 16)
  for (const hash of wanted) maybe[hash >>> 16] = 1
  for (const source of sources) {
    eachWindow(source, hash => {
      if (maybe[hash >>> 16] === 1 && wanted.has(hash)) found.add(hash)
    })
  }
  return found
}

const BASE = 16_777_619
const LEAVING = Array.from({ length: WINDOW }).reduce<number>(power => Math.imul(power, BASE), 1)
const RING = 16

// A rolling hash: each window's follows from the one before it.
function eachWindow(text: string, visit: (hash: number) => void): void {
  const last = new Uint16Array(RING)
  let hash = 0
  let seen = 0
  for (let i = 0; i < text.length; i++) {
    const code = significant(text.charCodeAt(i))
    if (code === 0) continue
    const leaving = seen < WINDOW ? 0 : (last[(seen - WINDOW) & (RING - 1)] as number)
    hash = (Math.imul(hash, BASE) + code - Math.imul(leaving, LEAVING)) >>> 0
    last[seen & (RING - 1)] = code
    if (++seen >= WINDOW) visit(hash)
  }
}

// Letters in lower case, digits, and everything beyond ASCII; 0 for all else.
function significant(code: number): number {
  if (code > 127) return code
  if (code >= 97 && code <= 122) return code
  if (code >= 65 && code <= 90) return code + 32
  return code >= 48 && code <= 57 ? code : 0
}

function withoutQuotedWords(text: string, sources: readonly string[]): string {
  let left = QUOTED_MAX
  return text.replace(/(["'`])((?:(?!\1).){2,64})\1/g, (whole: string, mark: string, words: string) => {
    if (words === MARK) return whole
    // It may be cut off.
    const begun = words.replace(/(?:\.\.\.|…)$/, '')
    const isQuoted = () => begun.length > 1 && sources.some(source => source.includes(begun))
    // Beyond the maximum, words are not compared and may be the caller's.
    return left-- <= 0 || isQuoted() ? `${mark}${MARK}${mark}` : whole
  })
}
