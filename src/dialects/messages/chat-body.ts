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
  const chat: Record<string, unknown> = {
    model: body.model,
    messages: translated.map(({ message }) => message),
    max_tokens: body.max_tokens,
    stream: body.stream,
    temperature: body.temperature,
    top_k: body.top_k,
    top_p: body.top_p,
    stop: stops === undefined || stops.length === 0 ? undefined : stops.slice(0, STOPS_MAX),
    user: metadata?.user_id,
    session_id: body.session_id,
    models: body.models,
    provider: body.provider,
    thinking: thinking && { ...thinking },
    ...(tools.length === 0 ? {} : { tools: tools.slice(0, TOOLS_TRANSLATED_MAX).map(toolOf) }),
    ...(tools.length === 0 || choice === undefined ? {} : { tool_choice: toolChoiceOf(choice) }),
    ...(choice?.disable_parallel_tool_use === true && tools.length > 0 ? { parallel_tool_calls: false } : {}),
    ...(format === undefined
      ? {}
      : {
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'output', schema: format.schema, strict: true },
          },
        }),
  }
  for (const name of Object.keys(chat)) if (chat[name] === undefined) delete chat[name]
  return chat
}

// A level for providers that know only levels.
export function effortOf({ output_config: config, thinking }: Body): string | undefined {
  if (config?.effort !== undefined) return config.effort
  const { budget_tokens: budget } = thinking ?? {}
  if (thinking?.type !== 'enabled' || budget === undefined) return undefined
  if (budget <= 4096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}
