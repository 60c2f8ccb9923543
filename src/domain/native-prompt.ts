// What a provider that speaks the caller's dialect is sent as the prompt, for the tokenizer. Images and files are not text.
import type { Chat } from './chat.ts'

export function nativeText({
  native,
  nativeJson,
  media,
}: Pick<Chat, 'native' | 'nativeJson' | 'media'>): string | undefined {
  if (native === undefined) return undefined
  return media.length === 0 ? (nativeJson ?? JSON.stringify(native)) : JSON.stringify(native, withoutMedia)
}

type Holder = { readonly type?: unknown }

export function withoutMedia(this: Holder, name: string, value: unknown): unknown {
  if (name === 'source' && (this.type === 'image' || this.type === 'document')) return withoutData(value)
  const isData =
    (name === 'image_url' && this.type === 'input_image') || (name === 'file_data' && this.type === 'input_file')
  return isData ? '' : value
}

function withoutData(source: unknown): unknown {
  const { type } = (source ?? {}) as Holder
  return type === 'base64' ? { ...(source as object), data: '' } : source
}
