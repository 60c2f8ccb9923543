// The request as a provider of the same dialect gets it, and its size.
import type { Body } from './reading.ts'
import { NATIVE } from './schema.ts'
import type { Block, Tool, Turn } from './translate.ts'

// What a provider of the same dialect gets: without the fields that the gateway writes for each of them.
export function nativeOf(body: Body, tools: readonly Tool[]): Readonly<Record<string, unknown>> {
  const native: Record<string, unknown> = { messages: body.messages }
  for (const name of Object.keys(NATIVE)) {
    if (name !== 'tools' && name !== 'tool_choice' && name !== 'thinking' && body[name] !== undefined)
      native[name] = body[name]
  }
  if (tools.length > 0) {
    native.tools = tools
    if (body.tool_choice !== undefined) native.tool_choice = body.tool_choice
  }
  return native
}

// Named as ignored where the request is translated.
export function nativeOnly(body: Body): [string, unknown][] {
  return NATIVE_ONLY.flatMap(name => (body[name] === undefined ? [] : [[name, body[name]] as [string, unknown]]))
}

const NATIVE_ONLY = ['cache_control', 'context_management', 'service_tier', 'speed', 'inference_geo']

// Media of several megabytes is not measured by its bytes.
export function nativeBytes(native: Readonly<Record<string, unknown>>, json: string, hasMedia: boolean): number {
  if (!hasMedia) return Buffer.byteLength(json)
  let mediaBytes = 0
  const visit = (content: unknown): void => {
    if (!Array.isArray(content)) return
    for (const block of content as Block[]) {
      const { data, type } = (block.source ?? {}) as { readonly data?: unknown; readonly type?: unknown }
      const isMedia = (block.type === 'image' || block.type === 'document') && type === 'base64'
      if (isMedia && typeof data === 'string') mediaBytes += data.length
      visit(block.content)
      visit((block.source as { readonly content?: unknown } | undefined)?.content)
    }
  }
  for (const { content } of native.messages as readonly Turn[]) visit(content)
  return Buffer.byteLength(json) - mediaBytes
}
