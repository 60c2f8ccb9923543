// Converts a request's bytes to a JSON object: type, encoding, UTF-8, depth and numbers are checked before anything else.
import { Refusal } from '../domain/refusal.ts'
import { guardJson, oddNumberPath } from '../lib/json-guard.ts'
import { isRawJson, parseKeepingDigits } from '../lib/raw-json.ts'
import type { HttpRequest } from './http-types.ts'

export function requireJson(req: HttpRequest): void {
  const type = req.headers['content-type'] ?? ''
  const encoding = req.headers['content-encoding']
  if (type !== 'application/json' && !/^application\/json\s*(?:;|$)/i.test(type))
    throw new Refusal('unsupported_media_type')
  if (encoding !== undefined)
    throw new Refusal('unsupported_media_type', { message: 'Send the body without a Content-Encoding.' })
}

// Where long integers are kept, those past 2⁵³ keep their digits as raw JSON: suitable for forwarding, and not a number for bound
// checks. The plain path does not do this.
export function parseJsonObject(
  bytes: Buffer,
  depthMax: number,
  longIntegers: 'kept' | 'refused' = 'refused',
): Record<string, unknown> {
  const { verdict, suspicious } = guardJson(bytes, depthMax)
  if (verdict !== 'ok') throw new Refusal('invalid_json', { message: WORDS[verdict] })
  const value = parse(bytes, suspicious && longIntegers === 'kept')
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isRawJson(value)) {
    throw new Refusal('invalid_json', { message: 'The body must be a JSON object.' })
  }
  const odd = suspicious ? oddNumberPath(value) : undefined
  if (odd !== undefined) {
    throw new Refusal('invalid_value', {
      param: odd,
      message: `${odd} is not a finite number or exceeds the range of safe integers.`,
    })
  }
  return value as Record<string, unknown>
}

// Beyond this size a body is processed in several turns of the event loop, and lone surrogates are replaced.
export const LARGE_BODY_BYTES = 1024 * 1024

const WORDS = {
  bom: 'The body starts with a byte order mark; send UTF-8 without one.',
  bad_utf8: 'The body is not valid UTF-8.',
  too_deep: 'The body is nested too deeply.',
  too_many: 'The body has too many members.',
} as const

function parse(bytes: Buffer, keepsDigits: boolean): unknown {
  try {
    const value = keepsDigits ? parseKeepingDigits(bytes.toString()) : JSON.parse(bytes.toString())
    return bytes.length > LARGE_BODY_BYTES ? wellFormed(value) : value
  } catch {
    throw new Refusal('invalid_json', { message: 'The body is not valid JSON.' })
  }
}

// Replaces lone surrogates in a parsed JSON value, since each costs a serialiser a hundred times as much as another character.
// In place where possible; recursive, for values whose depth was checked. Each lone surrogate becomes U+FFFD.
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  const record = value as Record<string, unknown>
  for (const name of Object.keys(record)) {
    const inner = record[name]
    const made = wellFormed(inner)
    const isNameWell = name.isWellFormed()
    if (made === inner && isNameWell) continue
    if (!isNameWell) delete record[name]
    record[name.toWellFormed()] = made
  }
  return record
}
