// Translates a chat to the AI SDK's format: settings, tools, response format. What the protocol cannot express is either refused
// with a message or named as ignored, never dropped silently. Pure.
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool } from '@ai-sdk/provider'
import type { Provider } from '../../domain/catalog.ts'
import type { Chat } from '../../domain/chat.ts'
import type { SdkKind } from '../../domain/presets.ts'
import type { Part } from '../../domain/prompt.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { cannot } from './media.ts'
import { cacheMark, promptOf } from './prompt.ts'
import { OPTIONS_NAME, thinkingOf } from './reasoning.ts'

export function callOptions(
  upstreamRequest: UpstreamRequest,
  provider: Provider,
  kind: SdkKind,
): LanguageModelV4CallOptions {
  const { forwarded, messages, n } = upstreamRequest.chat
  if (n > 1) throw cannot("n must be 1 for this model's provider.")
  if (forwarded.functions !== undefined)
    throw cannot("This model's provider does not support functions; send tools instead.")
  const { own, ...thinking } = thinkingOf(upstreamRequest, provider, kind)
  const tools = toolsOf(forwarded.tools as readonly Part[] | undefined)
  return {
    prompt: promptOf(messages, kind),
    ...thinking,
    ...given('temperature', forwarded.temperature),
    ...given('topP', forwarded.top_p),
    ...given('topK', topK(forwarded.top_k, kind)),
    ...given('presencePenalty', forwarded.presence_penalty),
    ...given('frequencyPenalty', forwarded.frequency_penalty),
    ...given('seed', forwarded.seed),
    ...given('stopSequences', typeof forwarded.stop === 'string' ? [forwarded.stop] : forwarded.stop),
    ...given('responseFormat', responseFormat(forwarded.response_format)),
    ...given('tools', tools),
    ...(tools === undefined ? {} : given('toolChoice', toolChoice(forwarded.tool_choice))),
    providerOptions: providerOptions(upstreamRequest, own, kind),
  }
}

// Fields that the protocol does not have. If only some of its models do not accept a field, its package reports that when it is
// called.
export function ignoredBy(
  { forwarded, identifiers, extras, leftOut, messages }: Chat,
  provider: Provider,
  kind: SdkKind,
) {
  const isRead = (name: string) => (name === 'thinking' || name === 'reasoning') && provider.passthrough.includes(name)
  const names = [...extras.keys()].filter(name => !isRead(name)).concat(leftOut)
  for (const name of Object.keys(forwarded)) if (!isSaid(name, forwarded[name], kind)) names.push(name)
  for (const name of Object.keys(identifiers)) if (name !== saidIdentifier(identifiers, kind)) names.push(name)
  for (const name of ['name', 'prefix']) {
    if (messages.some(message => message[name] !== undefined && message.role !== 'function'))
      names.push(`messages.${name}`)
  }
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))
  for (const name of ['cache_control', 'prompt_cache_breakpoint']) {
    const marked = parts.filter(part => part[name] !== undefined)
    if (marked.some(part => cacheMark(part, kind).providerOptions === undefined)) names.push(`messages.content.${name}`)
  }
  return names
}

const SAID = new Set([
  ...['frequency_penalty', 'modalities', 'n', 'presence_penalty', 'reasoning_effort', 'response_format', 'seed'],
  ...['service_tier', 'stop', 'temperature', 'tool_choice', 'tools', 'top_k', 'top_p'],
])

function isSaid(name: string, value: unknown, kind: SdkKind): boolean {
  const isClaude = kind === 'anthropic' || kind === 'bedrock'
  if (name === 'parallel_tool_calls') return isClaude || value === true
  // They support a schema, or nothing.
  if (name === 'response_format' && isClaude) return (value as { type?: unknown }).type !== 'json_object'
  if (name === 'top_k' && kind === 'bedrock') return false
  return SAID.has(name)
}

// Only Anthropic is sent the (hashed) user of the tenant.
function saidIdentifier(identifiers: Readonly<Record<string, string>>, kind: SdkKind): string | undefined {
  if (kind !== 'anthropic') return undefined
  return ['user', 'safety_identifier'].find(name => identifiers[name] !== undefined)
}

function providerOptions(
  { chat, identifiers }: UpstreamRequest,
  own: Readonly<Record<string, unknown>>,
  kind: SdkKind,
): NonNullable<LanguageModelV4CallOptions['providerOptions']> {
  const isClaude = kind === 'anthropic' || kind === 'bedrock'
  const oneAtATime = isClaude && chat.forwarded.parallel_tool_calls === false ? { disableParallelToolUse: true } : {}
  const user = saidIdentifier(identifiers, kind)
  const metadata = user === undefined ? {} : { metadata: { userId: identifiers[user] as string } }
  // Bedrock's package reads some of Anthropic's options too.
  if (kind === 'bedrock') return { amazonBedrock: own, anthropic: oneAtATime } as ReturnType<typeof providerOptions>
  return { [OPTIONS_NAME[kind]]: { ...own, ...oneAtATime, ...metadata } } as ReturnType<typeof providerOptions>
}

function topK(value: unknown, kind: SdkKind): unknown {
  return typeof value === 'number' && value > 0 && kind !== 'bedrock' ? value : undefined
}

function responseFormat(format: unknown): LanguageModelV4CallOptions['responseFormat'] | undefined {
  const { type, json_schema: wanted } = (format ?? {}) as { type?: string; json_schema?: Record<string, unknown> }
  if (type === 'json_object') return { type: 'json' }
  if (type !== 'json_schema') return undefined
  if (!isObject(wanted) || !isObject(wanted.schema))
    throw cannot('response_format.json_schema.schema must be a JSON schema.')
  return {
    type: 'json',
    schema: wanted.schema,
    ...(typeof wanted.name === 'string' ? { name: wanted.name } : {}),
    ...(typeof wanted.description === 'string' ? { description: wanted.description } : {}),
  }
}

function toolsOf(tools: readonly Part[] | undefined): LanguageModelV4FunctionTool[] | undefined {
  return tools?.map(tool => {
    if (tool.type !== 'function') throw cannot(`Tools of type ${tool.type} are not supported by this model's provider.`)
    const { name, description, parameters, strict } = tool.function as {
      name: string
      description?: string
      parameters?: Record<string, unknown>
      strict?: boolean | null
    }
    return {
      type: 'function',
      name,
      inputSchema: { type: 'object', properties: {}, ...parameters },
      ...(description === undefined ? {} : { description }),
      ...(typeof strict === 'boolean' ? { strict } : {}),
    }
  })
}

function toolChoice(choice: unknown): LanguageModelV4CallOptions['toolChoice'] | undefined {
  if (choice === undefined) return undefined
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { type: choice }
  const name = (choice as { function?: { name?: unknown } }).function?.name
  if (typeof name === 'string') return { type: 'tool', toolName: name }
  throw cannot("tool_choice must be auto, none, required or one function for this model's provider.")
}

function given<Name extends keyof LanguageModelV4CallOptions>(
  name: Name,
  value: unknown,
): Pick<LanguageModelV4CallOptions, Name> | Record<string, never> {
  return value === undefined ? {} : ({ [name]: value } as Pick<LanguageModelV4CallOptions, Name>)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
