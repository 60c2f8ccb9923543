// The caller's tools as functions of a chat: the functions of a namespace get names of their own, and a custom tool becomes a
// function with one text. Calls in the answer are mapped back.
import { createHash } from 'node:crypto'
import { parseWritten } from '../../lib/written-json.ts'

export type ToolName = {
  readonly type: 'function' | 'custom'
  readonly name: string
  readonly namespace: string | undefined
}

export type CallerTool = ToolName & {
  readonly flat: string
  readonly tool: Readonly<Record<string, unknown>>
  // Its place in the caller's list, for error messages.
  readonly path: string
}

export type ToolNames = {
  readonly tools: readonly CallerTool[]
  // The caller's tool of a name in a chat.
  called(flat: string): ToolName | undefined
  // The name in a chat of the caller's tool, whether it is declared or only called in the history.
  flat(name: string, namespace: string | undefined): string
}

type Tool = Readonly<Record<string, unknown>> & { readonly type: string; readonly name: string }

// For tools that their schemas accept.
export function toolNames(tools: readonly { readonly tool: Tool; readonly path: string }[]): ToolNames {
  const taken = new Set(tools.flatMap(({ tool }) => (tool.type === 'namespace' ? [] : [tool.name])))
  const found: CallerTool[] = []
  const byFlat = new Map<string, CallerTool>()
  const add = (tool: Tool, namespace: string | undefined, path: string) => {
    const flat = namespace === undefined ? tool.name : flatName(tool.name, namespace, taken)
    const type = tool.type as ToolName['type']
    const named = { type, name: tool.name, namespace, flat, tool, path }
    found.push(named)
    byFlat.set(flat, named)
  }
  for (const { tool, path } of tools) {
    if (tool.type !== 'namespace') add(tool, undefined, path)
    else for (const [index, inner] of (tool.tools as Tool[]).entries()) add(inner, tool.name, `${path}.tools.${index}`)
  }
  return {
    tools: found,
    called: flat => byFlat.get(flat),
    flat: (name, namespace) => (namespace === undefined ? name : flatName(name, namespace, taken)),
  }
}

// Long names, and those that another tool has, end in a hash of both names: the same in every request.
function flatName(name: string, namespace: string, taken: ReadonlySet<string>): string {
  const plain = `${namespace}__${name}`
  const known = plain.replace(/[^A-Za-z0-9_-]/g, '_')
  if (known === plain && known.length <= NAME_CHARS_MAX && !taken.has(known) && !isAmbiguous(name, namespace))
    return known
  const hash = createHash('sha256')
    .update(JSON.stringify([namespace, name]))
    .digest('hex')
    .slice(0, HASH_CHARS)
  return `${known.slice(0, NAME_CHARS_MAX - HASH_CHARS - 1)}_${hash}`
}

// `a__b` of `c` and `b__c` of `a` would have the same name.
function isAmbiguous(name: string, namespace: string): boolean {
  return name.includes('__') || namespace.endsWith('_') || name.startsWith('_')
}

// What OpenAI and most others allow.
const NAME_CHARS_MAX = 64
const HASH_CHARS = 8

// The one argument of a custom tool's function.
export const CUSTOM_ARGUMENT = 'input'

export function customArguments(input: string): string {
  return JSON.stringify({ [CUSTOM_ARGUMENT]: input })
}

// A model that does not follow the schema has written the text itself.
export function customInput(written: string): string {
  const parsed = parseWritten(written) as { readonly [CUSTOM_ARGUMENT]?: unknown } | null | undefined
  const input = parsed?.[CUSTOM_ARGUMENT]
  return typeof input === 'string' ? input : written
}
