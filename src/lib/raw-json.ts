// Parses JSON so that integers past 2⁵³ keep their digits: they become raw JSON, which is serialised unchanged. A JSON.parse
// reviver could do this but is called for every member and takes several times as long; here each one is replaced by a
// placeholder object until the parse is done.
import { randomBytes } from 'node:crypto'
import { endOfText } from './json-guard.ts'

type WithRaw = typeof JSON & { rawJSON(text: string): object; isRawJSON(value: unknown): boolean }

// Throws a SyntaxError where JSON.parse would. Recursive: only for text whose depth was checked.
export function parseKeepingDigits(text: string): unknown {
  return restored(JSON.parse(withStandIns(text)))
}

export function isRawJson(value: unknown): boolean {
  return (JSON as WithRaw).isRawJSON(value)
}

// A name that no caller can know.
const STAND_IN = randomBytes(12).toString('base64url')

function withStandIns(text: string): string {
  const parts: string[] = []
  let taken = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfText(text, i + 1)
    else if (code === MINUS || isDigit(code)) {
      const end = endOfNumber(text, i)
      if (isUnsafe(text.slice(i, end))) {
        parts.push(text.slice(taken, i), `{"${STAND_IN}":"${text.slice(i, end)}"}`)
        taken = end
      }
      i = end - 1
    }
  }
  return parts.length === 0 ? text : `${parts.join('')}${text.slice(taken)}`
}

// Safe integers have at most 16 digits.
function isUnsafe(literal: string): boolean {
  if (literal.length < 16 && !/e/i.test(literal)) return false
  const value = Number(literal)
  return Number.isInteger(value) && !Number.isSafeInteger(value)
}

function restored(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = restored(value[i])
    return value
  }
  const record = value as Record<string, unknown>
  if (Object.hasOwn(record, STAND_IN)) return (JSON as WithRaw).rawJSON(String(record[STAND_IN]))
  for (const name of Object.keys(record)) {
    const inner = record[name]
    const kept = restored(inner)
    if (kept !== inner) record[name] = kept
  }
  return value
}

function endOfNumber(text: string, from: number): number {
  let at = from
  while (at < text.length && isOfNumber(text.charCodeAt(at))) at++
  return at
}

// A digit, or one of "+", "-", ".", "E" and "e".
function isOfNumber(code: number): boolean {
  return isDigit(code) || code === 0x2b || code === MINUS || code === 0x2e || (code | 0x20) === 0x65
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

const QUOTE = 0x22
const MINUS = 0x2d
