// Validates operators' input beyond its schema, which the endpoint has checked. Every error names its parameter.
import { formatCredits, isBeyondCredits, NANO_MAX, type Nano, parseCredits } from '../domain/credits.ts'
import { ALLOWED_MODELS_MAX, ALLOWLIST_ENTRIES_MAX } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import { isTagName, isTagValue, KEY_TAGS_MAX, NAME_WORDS, type Tags, VALUE_WORDS } from '../domain/tags.ts'
import { MODEL_NAME_MAX } from '../domain/usage.ts'
import { parseIsoTime } from '../domain/wire-time.ts'
import { BadCidr, parseCidrs } from '../lib/ip-address.ts'
import type { Fault } from '../lib/schema-fault.ts'
import type { Paged, SortedPage } from '../store/contract/operator.ts'

export const NAME_MAX = 200
export const NOTE_MAX = 1000
const PARAM_MAX = 256

// The latest time with a four-digit year; beyond it, ISO changes its format.
const TIME_MAX = Date.UTC(10_000, 0) - 1

export type List<T> = { readonly object: 'list'; readonly data: readonly T[]; readonly has_more: boolean }

// Sorted lists have the place where the next page begins.
export type SortedList<T> = List<T> & { readonly next_after?: string | null }

export function sortedListOf<T, U>(page: SortedPage<T>, write: (item: T) => U): SortedList<U> {
  return { ...listOf(page, write), ...(page.next === undefined ? {} : { next_after: page.next }) }
}

export function listOf<T, U>(page: Paged<T>, write: (item: T) => U): List<U> {
  return { object: 'list', data: page.data.map(write), has_more: page.hasMore }
}

// As RFC 5321 allows.
export const EMAIL_MAX = 254
export const EXTERNAL_ID_MAX = 200

export function readName(text: string): string {
  if (text.trim() === '' || text.length > NAME_MAX)
    throw wrong('name', `1 to ${NAME_MAX} characters, not only whitespace`)
  if (/\p{Cc}/u.test(text) || !text.isWellFormed()) throw wrong('name', 'no control characters or unpaired surrogates')
  return text
}

// Line breaks and tabs are allowed in a note, other control characters are not.
export function readNote(text: string | null | undefined): string | null {
  if (text === undefined || text === null) return null
  if (text.length > NOTE_MAX) throw wrong('note', `at most ${NOTE_MAX} characters`)
  if (/[^\P{Cc}\n\t\r]/u.test(text) || !text.isWellFormed()) throw wrong('note', 'no control characters')
  return text
}

export function readCidrs(texts: readonly string[]): readonly string[] {
  if (texts.length > ALLOWLIST_ENTRIES_MAX) throw wrong('ip_allowlist', `at most ${ALLOWLIST_ENTRIES_MAX} entries`)
  try {
    parseCidrs(texts)
  } catch (error) {
    if (!(error instanceof BadCidr)) throw error
    throw wrong(`ip_allowlist.${error.index}`, 'an IP address or CIDR range such as 10.0.0.0/8')
  }
  return texts
}

// Ids and patterns: visible text, each once.
export function readModels(texts: readonly string[], param = 'allowed_models'): readonly string[] {
  const wrongAt = texts.findIndex(text => /[^\P{C}]|\s/u.test(text) || text === '' || text.length > MODEL_NAME_MAX)
  if (wrongAt >= 0) throw wrong(`${param}.${wrongAt}`, 'the id of a model, or a pattern such as "gpt-4o*"')
  if (texts.length > ALLOWED_MODELS_MAX) throw wrong(param, `at most ${ALLOWED_MODELS_MAX} entries`)
  return [...new Set(texts)]
}

export function readTags(tags: Tags): Tags {
  if (Object.keys(tags).length > KEY_TAGS_MAX) throw wrong('tags', `at most ${KEY_TAGS_MAX}`)
  for (const [name, value] of Object.entries(tags)) {
    if (!isTagName(name)) throw wrong('tags', `names of ${NAME_WORDS}`)
    if (!isTagValue(value)) throw wrong(`tags.${name}`, VALUE_WORDS)
  }
  return tags
}

export function readFuture(param: string, text: string | null, now: number): number | null {
  if (text === null) return null
  const at = readTime(param, text)
  if (at <= now || at > TIME_MAX) throw wrong(param, 'a time in the future')
  return at
}

function readTime(param: string, text: string): number {
  const at = parseIsoTime(text)
  if (at === undefined) throw wrong(param, 'an ISO 8601 date, or a date and time with a time zone')
  return at
}

// From one time up to, but not including, another.
export function readRange({ from, to }: { readonly from?: string; readonly to?: string }) {
  const range = {
    from: from === undefined ? undefined : readTime('from', from),
    to: to === undefined ? undefined : readTime('to', to),
  }
  if ((range.from ?? 0) > (range.to ?? TIME_MAX)) throw wrong('from', 'a time before `to`')
  return range
}

export function readCredits(param: string, text: string): Nano {
  const amount = parseCredits(text)
  if (isBeyondCredits(text)) throw wrong(param, `at most ${formatCredits(NANO_MAX)} credits`)
  if (amount === undefined) throw wrong(param, 'a decimal string with at most nine decimals, such as "10.00"')
  return amount
}

export function readCreditLimit(param: string, text: string): Nano {
  const limit = readCredits(param, text)
  if (limit < 0n) throw wrong(param, 'zero or more')
  return limit
}

// Of a fault by a schema or by a rule. Names in its path are a caller's words, so that they are cut and made well-formed.
export function refusalOfFault({ path, kind, problem }: Fault): Refusal {
  const param = path.join('.').slice(0, PARAM_MAX).toWellFormed()
  if (param === '') return new Refusal('invalid_value', { message: `The body ${problem}.` })
  return kind === 'missing' ? missing(param) : new Refusal('invalid_value', { param, message: `${param} ${problem}.` })
}

export function wrong(param: string, expected: string): Refusal {
  return new Refusal('invalid_value', { param, message: `${param}: expected ${expected}.` })
}

// Of a field that names an account.
export function noAccount(): Refusal {
  return new Refusal('invalid_value', { param: 'account_id', message: 'account_id: there is no account with this id.' })
}

export function missing(param: string): Refusal {
  return new Refusal('missing_field', { param, message: `${param} is required.` })
}

export function unknown(noun: string): Refusal {
  return new Refusal('not_found', { message: `There is no ${noun} with this id.` })
}

// The reason tells clients that reading the object again and repeating the change helps.
export function versionMismatch(noun: string, id: string): Refusal {
  return new Refusal('conflict', {
    message: `The ${noun} ${id} has changed since it was read. Read it again and repeat the change.`,
    metadata: { reason: 'version_changed' },
  })
}

export function conflict(message: string, param?: string): Refusal {
  return new Refusal('conflict', { message, ...(param === undefined ? {} : { param }) })
}

// `If-Match: "3"`; without it, any version.
export function readIfMatch(text: string | undefined): number | undefined {
  if (text === undefined || text === '*') return undefined
  const match = /^"?(\d{1,15})"?$/.exec(text)
  if (match === null) throw wrong('If-Match', 'a version such as "3"')
  return Number(match[1])
}
