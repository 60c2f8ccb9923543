// Tags: names with values, by which operators allocate cost. Keys have some, and a request may add a few in a header.
import { memoize } from '../lib/memoize.ts'

export type Tags = Readonly<Record<string, string>>

export const NO_TAGS: Tags = Object.freeze({})

export const KEY_TAGS_MAX = 16
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
