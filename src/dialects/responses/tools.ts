// The tools of a Responses request: checked, and as the tools of a chat.
import type { TSchema } from 'typebox'
import { demand } from '../../chat/parse-request.ts'
import { missing, validatorOf } from '../../chat/request-errors.ts'
import { checkPricedFields } from '../../chat/unpriced-fields.ts'
import type { Chat } from '../../domain/chat.ts'
import { Refusal } from '../../domain/refusal.ts'
import { isRecord } from './carried-reasoning.ts'
import { TOOLS, type ToolType } from './schema.ts'
import { type CallerTool, CUSTOM_ARGUMENT, type ToolNames, toolNames } from './tool-names.ts'

type Body = Record<string, unknown>
type Tool = Body & { type: string; name: string }

// Tools of the provider are left out and named. Afterwards the body has only the caller's.
export function checkTools(body: Body, leftOut: string[]): ToolNames {
  const kept: { tool: Tool; path: string }[] = []
  for (const [index, tool] of ((body.tools as Tool[] | undefined) ?? []).entries()) {
    const path = `tools.${index}`
    if (!Object.hasOwn(TOOLS, tool.type)) {
      const named = `tools.${tool.type.slice(0, 64)}`
      if (!leftOut.includes(named)) leftOut.push(named)
      continue
    }
    checkTool(TOOLS[tool.type as ToolType], tool, path)
    for (const [inside, inner] of ((tool.tools as Tool[] | undefined) ?? []).entries())
      checkTool(TOOLS[inner.type as ToolType], inner, `${path}.tools.${inside}`)
    kept.push({ tool, path })
  }
  const names = toolNames(kept)
  if (kept.length > 0) body.tools = kept.map(({ tool }) => tool)
  else delete body.tools
  checkChoice(body, names)
  return names
}

function checkTool(schema: TSchema, tool: Tool, path: string): void {
  demand(validatorOf(schema), schema, tool, path)
  checkPricedFields(tool, path)
}

// A choice that cannot be met is refused, since its caller relies on it.
function checkChoice(body: Body, { tools }: ToolNames): void {
  const choice = body.tool_choice
  if (choice === undefined) return
  if (typeof choice === 'string') {
    if (tools.length === 0 && choice !== 'required') delete body.tool_choice
    if (tools.length === 0 && choice === 'required') throw forced('tool_choice')
    return
  }
  const { type, tools: allowed } = choice as Body
  if (type === 'allowed_tools') {
    if (!Array.isArray(allowed)) throw missing('tool_choice.tools')
    const usable = allowed.filter(each => isRecord(each) && Object.hasOwn(TOOLS, String(each.type)))
    if (usable.length === 0) throw forced('tool_choice.tools')
    body.tool_choice = { ...(choice as Body), tools: usable }
    return
  }
  if (type !== 'function' && type !== 'custom') throw forced('tool_choice.type')
  if (typeof (choice as Body).name !== 'string') throw missing('tool_choice.name')
}

function forced(param: string): Refusal {
  const message = `${param} requires a tool that is not offered here; only function, custom and namespace tools are.`
  return new Refusal('unsupported_value', { param, message })
}

// The names of the caller's tools, for the answer. The chat was parsed from a Responses request.
export function namesOf({ native }: Pick<Chat, 'native'>): ToolNames {
  const tools = (native?.tools as Tool[] | undefined) ?? []
  return toolNames(tools.map(tool => ({ tool, path: '' })))
}

export function chatTool({ flat, tool, type }: CallerTool): Body {
  const { description, parameters, strict } = tool
  if (type === 'custom') return { type: 'function', function: customFunction(flat, tool) }
  const declared = { name: flat, description, parameters, strict }
  return {
    type: 'function',
    function: Object.fromEntries(Object.entries(declared).filter(([, value]) => value != null)),
  }
}

function customFunction(name: string, { description = '', format }: Body): Body {
  const { definition, syntax } = (format ?? {}) as { definition?: string; syntax?: string }
  const grammar = definition === undefined ? '' : `\n\nThe input must follow this ${syntax} grammar:\n${definition}`
  return {
    name,
    description: `${description}${grammar}`,
    parameters: {
      type: 'object',
      properties: { [CUSTOM_ARGUMENT]: { type: 'string', description: 'The whole input of the tool, as plain text.' } },
      required: [CUSTOM_ARGUMENT],
      additionalProperties: false,
    },
  }
}

export function chatChoice(choice: unknown, names: ToolNames): unknown {
  if (typeof choice === 'string') return choice
  const { type, name, namespace, mode, tools } = choice as Body
  const called = (tool: Body) => ({
    type: 'function',
    function: { name: names.flat(String(tool.name), tool.namespace as string | undefined) },
  })
  if (type !== 'allowed_tools') return called({ name, namespace })
  // A namespace stands for all of its tools, once.
  const inside = Map.groupBy(names.tools, each => each.namespace)
  const allowed: Body[] = []
  for (const tool of tools as Body[]) {
    if (tool.type !== 'namespace') allowed.push(called(tool))
    else {
      for (const each of inside.get(String(tool.name)) ?? []) allowed.push(called(each))
      inside.delete(String(tool.name))
    }
  }
  return { type, allowed_tools: { mode: mode ?? 'auto', tools: allowed } }
}
