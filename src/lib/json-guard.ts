// Checks a JSON body before JSON.parse: deep nesting blocks the parser for seconds, hundreds of thousands of members block it for
// half a second, and only a body with unusual numbers needs a walk afterwards.

import { isUtf8 } from 'node:buffer'

export type JsonVerdict = 'ok' | 'bom' | 'bad_utf8' | 'too_deep' | 'too_many'

export type JsonGuard = {
  readonly verdict: JsonVerdict
  // Some number is not finite, or is an unsafe integer.
  readonly suspicious: boolean
}

// Brackets inside strings do not count. The scan agrees with the parser up to the parser's first error, and the parser goes no
// deeper after that. Depth is checked first: ten megabytes of "[" are refused after depthMax bytes.
export function guardJson(bytes: Buffer, depthMax: number): JsonGuard {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { verdict: 'bom', suspicious: false }

  const { length } = bytes
  let suspicious = false
  let depth = 0
  let members = 0
  let digits = 0 // of the number being read, up to its dot
  for (let i = 0; i < length; i++) {
    const byte = bytes[i]!
    if (byte <= BLANK) {
      digits = 0
      continue
    }
    if (byte >= ZERO && byte <= NINE) {
      // The number can only become unusual from here on.
      if (++digits > DIGITS_MAX && !suspicious) {
        const end = endOfNumber(bytes, i)
        suspicious = isOdd(numberAt(bytes, i - DIGITS_MAX, end))
        i = end - 1
      }
      continue
    }
    if (byte === DOT && digits > 0) {
      i = endOfDigits(bytes, i + 1) - 1
      continue
    }
    const lower = byte | 0x20 // "[" and "{" differ in this bit alone, and so do "]" and "}", "E" and "e"
    if (byte === QUOTE) i = endOfString(bytes, i + 1)
    else if (lower === OPEN) {
      if (++depth > depthMax) return { verdict: 'too_deep', suspicious }
    } else if (lower === CLOSE) depth--
    else if (lower === EXPONENT && digits > 0 && !suspicious) {
      const end = endOfNumber(bytes, i)
      suspicious = isOdd(numberAt(bytes, startOfNumber(bytes, i), end))
      i = end - 1
    } else if (byte === COMMA && ++members > MEMBERS_MAX) return { verdict: 'too_many', suspicious }
    digits = 0
  }
  return { verdict: isUtf8(bytes) ? 'ok' : 'bad_utf8', suspicious }
}

export type TextBounds = { readonly depthMax: number; readonly membersMax: number }

// The same for a string. A level or a member takes at least two characters, so a short string is not scanned.
export function guardText(text: string, bounds: TextBounds): 'ok' | 'too_deep' | 'too_many' {
  if (text.length <= 2 * Math.min(bounds.depthMax, bounds.membersMax)) return 'ok'
  const counted = countMembers(text, bounds)
  return typeof counted === 'number' ? 'ok' : counted
}

export function countMembers(text: string, { depthMax, membersMax }: TextBounds): number | 'too_deep' | 'too_many' {
  let depth = 0
  let members = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfText(text, i + 1)
    else if (code === COMMA) {
      if (++members > membersMax) return 'too_many'
    } else if ((code | 0x20) === OPEN) {
      if (++depth > depthMax) return 'too_deep'
    } else if ((code | 0x20) === CLOSE) depth--
  }
  return members
}

// The dotted path ("messages.2.content") of the first number that is not finite or is an unsafe integer; the empty path is the
// value itself. Recursive: only for values whose depth was checked. Keys come from the caller, so the path is truncated to
// PATH_CHARS_MAX.
export function oddNumberPath(value: unknown): string | undefined {
  return stepsTo(value)?.reverse().join('.').slice(0, PATH_CHARS_MAX)
}

const PATH_CHARS_MAX = 256
const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const CLOSE = 0x7d
const EXPONENT = 0x65
const COMMA = 0x2c
// Far above any chat: the longest conversation with the largest tools has about thirty thousand.
const MEMBERS_MAX = 50_000
const ZERO = 0x30
const NINE = 0x39
const DOT = 0x2e
const PLUS = 0x2b
const MINUS = 0x2d
const BLANK = 0x20
const DIGITS_MAX = 15
const STEP_BYTES = 32
const STEP_BYTES_MAX = 1024

// The end of a number that starts at or before `from`.
function endOfNumber(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && isOfNumber(bytes[at]!)) at++
  return at
}

function startOfNumber(bytes: Buffer, from: number): number {
  let at = from
  while (at > 0 && isOfNumber(bytes[at - 1]!)) at--
  return at
}

function endOfDigits(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && bytes[at]! >= ZERO && bytes[at]! <= NINE) at++
  return at
}

function isOfNumber(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || byte === DOT || byte === PLUS || byte === MINUS || (byte | 0x20) === EXPONENT
}

function numberAt(bytes: Buffer, from: number, to: number): number {
  return Number(bytes.toString('latin1', from, to))
}

// The parser itself refuses what is not a number (NaN).
function isOdd(value: number): boolean {
  return !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))
}

// The index of the closing quote. Short strings are scanned byte by byte; in a long one the native search is faster, but less so
// the more escaped quotes it stops at.
function endOfString(bytes: Buffer, start: number): number {
  const { length } = bytes
  let step = STEP_BYTES
  let searchAt = start + step
  let i = start
  while (i < length) {
    const byte = bytes[i]!
    if (byte === QUOTE) return i
    if (byte === BACKSLASH) {
      i += 2
    } else if (i < searchAt) {
      i++
    } else {
      i = bytes.indexOf(QUOTE, i)
      if (i < 0) return length
      let slashes = 0
      while (bytes[i - 1 - slashes] === BACKSLASH) slashes++
      if (slashes % 2 === 0) return i
      i++
      step = Math.min(step * 2, STEP_BYTES_MAX)
      searchAt = i + step
    }
  }
  return length
}

// The index of the closing quote, as in a buffer.
export function endOfText(text: string, start: number): number {
  let searchAt = start + STEP_BYTES
  for (let i = start; i < text.length; i++) {
    if (i >= searchAt) {
      i = text.indexOf('"', i)
      if (i < 0) return text.length
      let slashes = 0
      while (text.charCodeAt(i - 1 - slashes) === BACKSLASH) slashes++
      if (slashes % 2 === 0) return i
      searchAt = i + STEP_BYTES_MAX
      continue
    }
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i
    if (code === BACKSLASH) i++
  }
  return text.length
}

// Built from the leaf up, so that only the reported path costs anything.
function stepsTo(value: unknown): string[] | undefined {
  if (typeof value === 'number') {
    return isOdd(value) ? [] : undefined
  }
  if (typeof value !== 'object' || value === null) return undefined

  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const steps = stepsTo(value[i])
      if (steps !== undefined) return [...steps, String(i)]
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    const steps = stepsTo((value as Readonly<Record<string, unknown>>)[key])
    if (steps !== undefined) return [...steps, key]
  }
  return undefined
}
