// The caller's own path of a field in the translation, for errors that are found there.
import type { Translated } from './translate.ts'

export function ownPath(param: string, translated: readonly Translated[]): string {
  const [root, place, name, part, ...rest] = param.split('.')
  const origin = root === 'messages' && place !== undefined ? translated[Number(place)] : undefined
  if (origin === undefined) return OWN_NAMES[param] ?? param
  if (name !== 'content' || part === undefined) return origin.path
  const path = origin.parts[Number(part)] ?? origin.path
  return `${path}${PART_NAMES[rest.join('.')] ?? ''}`
}

const OWN_NAMES: Readonly<Record<string, string>> = {
  stop: 'stop_sequences',
  user: 'metadata.user_id',
  response_format: 'output_config.format',
}
const PART_NAMES: Readonly<Record<string, string>> = {
  type: '.type',
  'image_url.url': '.source.url',
  'file.file_data': '.source.data',
}
