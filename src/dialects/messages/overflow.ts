// A conversation whose translation has more messages than a chat may have, since each result of a tool becomes one: only a
// provider of the same dialect can serve it. What is beyond is counted as one text.
import { isDataUrl } from '../../chat/request-schema.ts'
import { type Part, spokenTexts } from '../../domain/prompt.ts'
import { cannotTranslate, type Reading } from './reading.ts'
import type { Translated } from './translate.ts'

const MESSAGES_MAX = 2048

export function withinChat(translated: readonly Translated[], reading: Reading): readonly Translated[] {
  if (translated.length <= MESSAGES_MAX) return translated
  const message = `messages and tool results may be at most ${MESSAGES_MAX} for this model's providers.`
  cannotTranslate(reading, 'messages', message)
  const beyond = translated.slice(MESSAGES_MAX - 1)
  for (const { message, parts } of beyond) {
    const content = Array.isArray(message.content) ? (message.content as readonly Part[]) : []
    for (const [index, part] of content.entries()) {
      if (part.type === 'text') continue
      const url = (part.image_url as { readonly url: string } | undefined)?.url
      const isRemote = url !== undefined && !isDataUrl(url)
      reading.media.push({ kind: url === undefined ? 'file' : 'image', param: parts[index] ?? 'messages', isRemote })
    }
  }
  const content = [...spokenTexts(beyond.map(entry => entry.message))].join('\n')
  const last: Translated = { message: { role: 'user', content }, path: 'messages', parts: [] }
  return [...translated.slice(0, MESSAGES_MAX - 1), last]
}
