// Tags: names with values, by which operators allocate cost. Keys have some, and a request may add a few in a header.
import { memoize } from '../lib/memoize.ts'

export type Tags = Readonly<Record<string, string>>

export const NO_TAGS: Tags = Object.freeze({})

export const KEY_TAGS_MAX = 16
export const REQUEST_TAGS_MAX = 8
export const TAG_NAME_PATTERN = '^[a-z0-9_.-]{1,32}$'
export const TAG_VALUE_MAX = 64

const NAME = new RegExp(TAG_NAME_PATTERN)

export function isTagName(name: string): boolean {
  return NAME.test(name)
}

// Visible characters, with blanks only between them.
export function isTagValue(value: string): boolean {
  const isBounded = value.length <= 2 * TAG_VALUE_MAX && value !== '' && value.trim() === value
  return isBounded && [...value].length <= TAG_VALUE_MAX && !/[^\P{C}]|[^\P{Z} ]/u.test(value)
}

// As JSON with sorted names: equal tags are equal texts.
export function writeTags(tags: Tags): string {
  const pairs = Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`
}

// How a row stores the tags of a request; null: none. A key's own tags win.
export function rowTags(key: Tags, request: Tags | undefined): string | null {
  if (request === undefined) return keyTags(key)
  return writeTags({ ...request, ...key })
}

const keyTags = memoize((tags: Tags) => {
  const text = writeTags(tags)
  return text === '{}' ? null : text
})

// Enough for as many tags as allowed, in UTF-8.
const HEADER_CHARS_MAX = 4096

// The tags of a request, from a header such as `team=search, feature=rerank`; or what is wrong with it.
export function readTagsHeader(header: string): Tags | string {
  if (header.length > HEADER_CHARS_MAX) return 'is too long'
  const text = /[^\x00-\x7f]/.test(header) ? Buffer.from(header, 'latin1').toString() : header
  const pairs = text.split(',', REQUEST_TAGS_MAX + 1).map(pair => pair.trim())
  if (pairs.length > REQUEST_TAGS_MAX) return `has more than ${REQUEST_TAGS_MAX} tags`
  const tags = new Map<string, string>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const [name, value] = [pair.slice(0, Math.max(at, 0)), pair.slice(at + 1)]
    if (!isTagName(name)) return `must be a list such as "team=search, feature=rerank", with names of ${NAME_WORDS}`
    if (!isTagValue(value) || value.includes('\ufffd')) return `must have values of ${VALUE_WORDS}`
    if (tags.has(name)) return `has the tag ${name} twice`
    tags.set(name, value)
  }
  return Object.fromEntries(tags)
}

export const NAME_WORDS = '1 to 32 characters from a-z, 0-9, "_", "." and "-"'
export const VALUE_WORDS = `1 to ${TAG_VALUE_MAX} visible characters`

// A tag to filter by, such as `team:search`.
export function readTagFilter(text: string): readonly [name: string, value: string] | undefined {
  const at = text.indexOf(':')
  const [name, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)]
  return isTagName(name) && isTagValue(value) ? [name, value] : undefined
}

export const TAG_FILTERS_MAX = KEY_TAGS_MAX + REQUEST_TAGS_MAX
