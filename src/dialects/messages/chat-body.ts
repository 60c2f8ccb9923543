// The body of the chat that a Messages request is translated to. Pure.
import type { Body } from './reading.ts'
import { TOOLS_TRANSLATED_MAX } from './tools.ts'
import { type Tool, type Translated, toolChoiceOf, toolOf } from './translate.ts'

export const STOPS_MAX = 4

export function chatBody(
  body: Body,
  tools: readonly Tool[],
  translated: readonly Translated[],
): Record<string, unknown> {
  const { tool_choice: choice, stop_sequences: stops, metadata, thinking } = body
  const format = body.output_config?.format ?? body.output_format
  const chat: Record<string, unknown> = { model: body.model, messages: translated.map(({ message }) => message) }
  const say = (name: string, value: unknown) => {
    if (value !== undefined) chat[name] = value
  }
  for (const name of AS_THEY_ARE) say(name, body[name])
  if (stops !== undefined && stops.length > 0) say('stop', stops.slice(0, STOPS_MAX))
  say('user', metadata?.user_id)
  if (thinking !== undefined) say('thinking', { ...thinking })
  if (tools.length > 0) {
    say('tools', tools.slice(0, TOOLS_TRANSLATED_MAX).map(toolOf))
    if (choice !== undefined) say('tool_choice', toolChoiceOf(choice))
    if (choice?.disable_parallel_tool_use === true) say('parallel_tool_calls', false)
  }
  if (format !== undefined) {
    const json_schema = { name: 'output', schema: format.schema, strict: true }
    say('response_format', { type: 'json_schema', json_schema })
  }
  return chat
}

const AS_THEY_ARE = ['max_tokens', 'stream', 'temperature', 'top_k', 'top_p', 'session_id', 'models', 'provider']

// A level for providers that know only levels.
export function effortOf({ output_config: config, thinking }: Body): string | undefined {
  if (config?.effort !== undefined) return config.effort
  const { budget_tokens: budget } = thinking ?? {}
  if (thinking?.type !== 'enabled' || budget === undefined) return undefined
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}
