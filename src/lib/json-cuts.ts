// Validates a large JSON text without building it, and finds the parts that are passed on unparsed: long strings, and the lists
// below `choices[].logprobs` or at `data[].embedding`. One pass over the bytes, no recursion, no object per value. See docs/decisions/large-answers.md.
import { isUtf8 } from 'node:buffer'

// `inside`: the characters of a string, without its quotes. `value`: a whole list or object.
export type Cut = { readonly kind: 'inside' | 'value'; readonly from: number; readonly to: number }

export type CutBounds = {
  readonly depthMax: number
  // Limits for the remainder without the cuts.
  readonly membersMax: number
  // A string value of more bytes than this is cut.
  readonly stringBytesMax: number
  // Where the lists are.
  readonly path: CutPath
}

// Two names, and the depth at which a list on their path is cut.
export type CutPath = { readonly list: Uint8Array; readonly member: Uint8Array; readonly depth: number }

// {"choices":[{"logprobs":{"content":[ … is the fifth container to open.
export const LOGPROBS: CutPath = { list: Buffer.from('choices'), member: Buffer.from('logprobs'), depth: 5 }
// {"data":[{"embedding":[ … is the fourth.
export const EMBEDDINGS: CutPath = { list: Buffer.from('data'), member: Buffer.from('embedding'), depth: 4 }

// In text order; never nested. Throws NotJson.
export function jsonCuts(bytes: Uint8Array, bounds: CutBounds): readonly Cut[] {
  if (!isUtf8(bytes)) throw new NotJson('it is not UTF-8')
  const { length } = bytes
  const { depthMax, membersMax, stringBytesMax, path } = bounds
  const cutAt = path.depth
  const cuts: Cut[] = []
  // For each enclosing container: whether it is an object, and whether its path is a prefix of the path of the lists.
  const isObject = new Uint8Array(depthMax + 1)
  const isOnPath = new Uint8Array(depthMax + 1)
  let depth = 0
  let members = 0
  let cutDepth = 0 // the depth of the list that is being cut; 0: none
  let cutFrom = 0
  let key = OTHER // the last key read, if relevant
  let next: Next = VALUE
  let at = 0

  // No helpers that share its variables: they would halve its speed.
  while (at < length) {
    const byte = bytes[at] as number
    if (byte === COMMA_SIGN && next === COMMA_OR_END) {
      if (depth === 0) throw malformed()
      if (cutDepth === 0 && ++members > membersMax) throw new NotJson('it has too many members')
      next = isObject[depth] === 1 ? KEY : VALUE
      at += 1
    } else if (byte === QUOTE) {
      const end = endOfString(bytes, at + 1)
      if (next === KEY || next === KEY_OR_END) {
        if (depth === 1 || depth === 3) key = keyOf(bytes, at + 1, end, path)
        next = COLON
      } else if (next === VALUE || next === VALUE_OR_END) {
        if (cutDepth === 0 && end - at - 1 > stringBytesMax) cuts.push({ kind: 'inside', from: at + 1, to: end })
        next = COMMA_OR_END
      } else throw malformed()
      at = end + 1
    } else if (byte === COLON_SIGN && next === COLON) {
      next = VALUE
      at += 1
    } else if (byte === SPACE || byte === LF || byte === CR || byte === TAB) {
      at += 1
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      const object = byte === CLOSE_OBJECT
      const mayClose = next === COMMA_OR_END || next === (object ? KEY_OR_END : VALUE_OR_END)
      if (!mayClose || depth === 0 || isObject[depth] !== (object ? 1 : 0)) throw malformed()
      if (depth === cutDepth) {
        cuts.push({ kind: 'value', from: cutFrom, to: at + 1 })
        cutDepth = 0
      }
      depth -= 1
      next = COMMA_OR_END
      at += 1
    } else if (next !== VALUE && next !== VALUE_OR_END) {
      throw malformed()
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      const object = byte === OPEN_OBJECT
      if (depth === depthMax) throw new NotJson('it is nested too deeply')
      const onPath = depth === 0 ? object : isOnPath[depth] === 1 && goesOn(depth, object, key, cutAt)
      depth += 1
      isObject[depth] = object ? 1 : 0
      isOnPath[depth] = onPath ? 1 : 0
      if (onPath && depth === cutAt) {
        cutDepth = depth
        cutFrom = at
      }
      next = object ? KEY_OR_END : VALUE_OR_END
      at += 1
    } else {
      at = byte === MINUS || isDigit(byte) ? endOfNumber(bytes, at) : endOfWord(bytes, at)
      next = COMMA_OR_END
    }
  }
  if (depth !== 0 || next !== COMMA_OR_END) throw malformed()
  return cuts
}

export class NotJson extends Error {
  override readonly name = 'NotJson'
}

type Next = 0 | 1 | 2 | 3 | 4 | 5
const VALUE = 0
const VALUE_OR_END = 1
const KEY = 2
const KEY_OR_END = 3
const COLON = 4
const COMMA_OR_END = 5

const OTHER = 0
const LIST = 1
const MEMBER = 2

// Whether a container that opens at `depth` can still lead to a list on the path, or is one.
function goesOn(depth: number, object: boolean, key: number, cutAt: number): boolean {
  if (depth === 1) return key === LIST && !object
  if (depth === 2) return object
  if (depth === 3) return key === MEMBER && object === cutAt > 4
  return depth === 4 && cutAt > 4
}

const SPACE = 0x20
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA_SIGN = 0x2c
const COLON_SIGN = 0x3a
const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const LETTER_U = 0x75

// A key in an unusual notation is treated as another key: its value is parsed like everything else.
function keyOf(bytes: Uint8Array, from: number, to: number, { list, member }: CutPath): number {
  if (to - from === list.length && isAt(bytes, from, list)) return LIST
  return to - from === member.length && isAt(bytes, from, member) ? MEMBER : OTHER
}

function isAt(bytes: Uint8Array, from: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (bytes[from + i] !== wanted[i]) return false
  return true
}

// The index of the closing quote.
function endOfString(bytes: Uint8Array, from: number): number {
  const { length } = bytes
  for (let at = from; at < length; at++) {
    const byte = bytes[at] as number
    if (byte === QUOTE) return at
    if (byte === BACKSLASH) at = endOfEscape(bytes, at + 1)
    else if (byte < SPACE) throw malformed()
  }
  throw new NotJson('it ends inside a string')
}

const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))

// The index of its last byte.
function endOfEscape(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] as number
  if (byte !== LETTER_U) {
    if (!ESCAPED.has(byte)) throw malformed()
    return at
  }
  for (let i = at + 1; i <= at + 4; i++) if (!isHexDigit(bytes[i])) throw malformed()
  return at + 4
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false
  const lower = byte | 0x20
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66)
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= ZERO && byte <= 0x39
}

function endOfNumber(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === MINUS ? from + 1 : from
  at = bytes[at] === ZERO ? at + 1 : endOfDigits(bytes, at)
  if (bytes[at] === DOT) at = endOfDigits(bytes, at + 1)
  if (((bytes[at] ?? 0) | 0x20) === 0x65) {
    const sign = bytes[at + 1]
    at = endOfDigits(bytes, sign === PLUS || sign === MINUS ? at + 2 : at + 1)
  }
  return at
}

function endOfDigits(bytes: Uint8Array, from: number): number {
  let at = from
  while (isDigit(bytes[at])) at += 1
  if (at === from) throw malformed()
  return at
}

const WORDS = ['true', 'false', 'null'].map(word => Buffer.from(word))

function endOfWord(bytes: Uint8Array, from: number): number {
  for (const word of WORDS) if (isAt(bytes, from, word)) return from + word.length
  throw new NotJson('it has an invalid value')
}

function malformed(): NotJson {
  return new NotJson('it is malformed')
}
