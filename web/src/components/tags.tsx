// Tags of a key or a request, as `team=search`.
import type { ReactNode } from 'react'

type Tags = Readonly<Record<string, string>>

export function TagList({ of: tags }: { readonly of: Tags }): ReactNode {
  const texts = tagTexts(tags)
  return texts.length === 0 ? 'none' : texts.join(', ')
}

export function tagTexts(tags: Tags): string[] {
  return Object.entries(tags).map(([name, value]) => `${name}=${value}`)
}

// Undefined if it is not a name and a value; the server checks the rest.
export function readTagText(text: string): readonly [name: string, value: string] | undefined {
  const match = /^([a-z0-9_.-]{1,32})[=:](.+)$/.exec(text.trim())
  return match === null ? undefined : [match[1] ?? '', (match[2] ?? '').trim()]
}
