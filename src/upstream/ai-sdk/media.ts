// Translates images, audio and files of a chat to the AI SDK's format. They are inline; an image may be a URL where the provider
// fetches it itself. Pure.
import type { LanguageModelV4FilePart } from '@ai-sdk/provider'
import { Failure } from '../../domain/failure.ts'
import type { SdkKind } from '../../domain/presets.ts'
import type { Part } from '../../domain/prompt.ts'

const FETCHES_PICTURES: ReadonlySet<SdkKind> = new Set(['anthropic', 'cohere'])
const HEARS: ReadonlySet<SdkKind> = new Set(['google', 'vertex'])

export function mediaPart(part: Part, kind: SdkKind): LanguageModelV4FilePart {
  if (part.type === 'image_url') return image(part.image_url as { url: string; detail?: string }, kind)
  if (part.type === 'input_audio') return sound(part.input_audio as { data: string; format: string }, kind)
  return file(part.file as { file_data: string; filename?: string }, kind)
}

// The caller's fault: reported with our message, before anything is called.
export function cannot(words: string): Failure {
  return new Failure('rejected', 'the request cannot be converted', { words })
}

function image({ url, detail }: { url: string; detail?: string }, kind: SdkKind): LanguageModelV4FilePart {
  const details = kind === 'cohere' && detail !== undefined ? { providerOptions: { cohere: { detail } } } : {}
  if (/^data:/i.test(url)) return { type: 'file', ...inline(url, 'image/*'), ...details }
  if (!FETCHES_PICTURES.has(kind)) throw cannot("This model's provider accepts images only as data: URLs.")
  if (!URL.canParse(url)) throw cannot('An image URL in the messages is invalid.')
  return { type: 'file', mediaType: 'image/*', data: { type: 'url', url: new URL(url) }, ...details }
}

function sound({ data, format }: { data: string; format: string }, kind: SdkKind): LanguageModelV4FilePart {
  if (!HEARS.has(kind)) throw cannot("This model's provider does not support audio.")
  return { type: 'file', ...inline(data, format === 'mp3' ? 'audio/mpeg' : 'audio/wav') }
}

function file(given: { file_data: string; filename?: string }, kind: SdkKind): LanguageModelV4FilePart {
  const named = given.filename === undefined ? {} : { filename: given.filename }
  const { mediaType, data } = inline(given.file_data, typeByName(given.filename))
  if (kind !== 'cohere') return { type: 'file', mediaType, data, ...named }
  // Its documents are texts.
  if (!mediaType.startsWith('text/')) throw cannot("This model's provider supports text files only.")
  return {
    type: 'file',
    mediaType,
    data: { type: 'text', text: Buffer.from(data.data, 'base64').toString() },
    ...named,
  }
}

type Inline = { readonly mediaType: string; readonly data: { readonly type: 'data'; readonly data: string } }

// Plain base64, or a data: URL, which names its type and may be percent-encoded.
function inline(text: string, usualType: string): Inline {
  if (!/^data:/i.test(text)) return { mediaType: usualType, data: { type: 'data', data: base64Of(text) } }
  const url = /^data:([^,]*),/i.exec(text.slice(0, HEAD_MAX))
  if (url === null) throw unreadable()
  const [type = '', ...flags] = (url[1] as string).split(';')
  const rest = unescaped(text.slice(url[0].length))
  const isBase64 = flags.some(flag => flag.trim().toLowerCase() === 'base64')
  const data = isBase64 ? base64Of(rest) : Buffer.from(rest).toString('base64')
  return { mediaType: type.trim().toLowerCase() || usualType, data: { type: 'data', data } }
}

const HEAD_MAX = 1024

// The packages decode it to detect its type, and fail on anything else.
function base64Of(text: string): string {
  const bare = /\s/.test(text) ? text.replace(/\s+/g, '') : text
  const odd = bare.search(/[^\w+/-]/)
  const digits = odd < 0 ? bare.length : odd
  if (digits % 4 === 1 || !PADDINGS.has(bare.slice(digits)))
    throw cannot('The data of an image, audio or file in the messages is not valid base64.')
  return bare
}

const PADDINGS: ReadonlySet<string> = new Set(['', '=', '=='])

function unescaped(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw unreadable()
  }
}

function unreadable(): Failure {
  return cannot('A data: URL in the messages is invalid.')
}

const TYPES: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  md: 'text/markdown',
  png: 'image/png',
  txt: 'text/plain',
}

function typeByName(name: string | undefined): string {
  return TYPES[name?.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/pdf'
}
