// The fields of the chat that a Responses request is translated to, by the names that the caller used.
import type { Origin } from './items.ts'
import type { ToolNames } from './tool-names.ts'

export function ownPath(param: string, origins: readonly Origin[], { tools }: ToolNames): string {
  const [first = '', index, ...rest] = param.split('.')
  if (first === 'messages') {
    const origin = index === undefined ? undefined : origins[Number(index)]
    if (origin === undefined) return 'input'
    const [under, part, ...inside] = rest
    const path = under === 'content' ? origin.parts[Number(part)] : undefined
    if (path !== undefined) return [path, ...inside].join('.').replace(/\.(image_url\.url|file\.file_data)$/, INNER)
    return [origin.path, ...rest].join('.')
  }
  if (first === 'tools') return (index === undefined ? undefined : tools[Number(index)]?.path) ?? 'tools'
  return TOP.get(first) ?? param
}

const INNER = (path: string) => (path === '.image_url.url' ? '.image_url' : '.file_data')

const TOP: ReadonlyMap<string, string> = new Map([
  ['max_completion_tokens', 'max_output_tokens'],
  ['reasoning_effort', 'reasoning.effort'],
  ['response_format', 'text.format'],
  ['verbosity', 'text.verbosity'],
])
