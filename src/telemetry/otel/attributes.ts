// The attributes of a request's spans, by the semantic conventions for HTTP and generative AI; `turnpike.*` has no convention. They
// contain ids, names of models, counts and codes, never content, secrets or a provider's words.
import type { ProviderKind } from '../../domain/catalog.ts'
import type { Tokens } from '../../domain/credits.ts'
import { type Attempt, type Endpoint, isBilled } from '../../domain/usage.ts'
import type { RequestReport } from '../request-log.ts'

type Value = string | number | boolean | string[]
export type SpanAttributes = Record<string, Value>

// The kind of a provider, by its id; undefined for one that is gone.
export type KindOf = (providerId: string) => ProviderKind | undefined

const ROUTES: Readonly<Partial<Record<Endpoint, string>>> = {
  'chat.completions': '/v1/chat/completions',
  'chat.completions.quote': '/v1/chat/completions/quote',
  messages: '/v1/messages',
  'messages.count_tokens': '/v1/messages/count_tokens',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  models: '/v1/models',
  'key.introspect': '/v1/key/introspect',
  usage: '/v1/usage',
}

export function requestName({ endpoint, call }: RequestReport): string {
  const route = ROUTES[endpoint]
  return route === undefined ? call.method : `${call.method} ${route}`
}

export function requestAttributes(report: RequestReport, kindOf: KindOf): SpanAttributes {
  const { call, endpoint, caller, errorCode, cost } = report
  const route = ROUTES[endpoint]
  const attributes: SpanAttributes = {
    'http.request.method': call.method,
    'http.response.status_code': report.status,
    'turnpike.request_id': call.requestId,
    'turnpike.endpoint': endpoint,
    'turnpike.outcome': report.outcome,
  }
  if (route !== undefined) attributes['http.route'] = route
  if (errorCode !== undefined) attributes['error.type'] = errorCode
  if (caller !== undefined) {
    attributes['turnpike.account_id'] = caller.account.id
    attributes['turnpike.key_id'] = caller.key.id
  }
  if (cost !== undefined) attributes['turnpike.cost'] = Number(cost) / 1e9
  if (isBilled(endpoint)) addGeneration(attributes, report, kindOf)
  return attributes
}

function addGeneration(attributes: SpanAttributes, report: RequestReport, kindOf: KindOf): void {
  const { endpoint, provider, model, stream, tokens, finishReason, firstByteMs, modelRequested } = report
  attributes['gen_ai.operation.name'] = operationOf(endpoint)
  if (modelRequested !== null) attributes['gen_ai.request.model'] = modelRequested
  if (stream !== undefined) attributes['gen_ai.request.stream'] = stream
  if (provider) {
    attributes['gen_ai.provider.name'] = providerName(provider, kindOf)
    attributes['turnpike.provider'] = provider
    if (model !== undefined) attributes['gen_ai.response.model'] = model
  }
  if (finishReason) attributes['gen_ai.response.finish_reasons'] = [finishReason]
  if (stream && firstByteMs !== undefined) attributes[FIRST_CHUNK] = firstByteMs / 1000
  if (tokens !== undefined) addTokens(attributes, tokens)
}

const FIRST_CHUNK = 'gen_ai.response.time_to_first_chunk'

// Details that most requests do not have are left out where they are 0.
function addTokens(attributes: SpanAttributes, tokens: Tokens): void {
  attributes['gen_ai.usage.input_tokens'] = tokens.prompt
  attributes['gen_ai.usage.output_tokens'] = tokens.completion
  if (tokens.cached > 0) attributes['gen_ai.usage.cache_read.input_tokens'] = tokens.cached
  if (tokens.cacheWrite > 0) attributes['gen_ai.usage.cache_creation.input_tokens'] = tokens.cacheWrite
  if (tokens.reasoning > 0) attributes['gen_ai.usage.reasoning.output_tokens'] = tokens.reasoning
}

export function attemptName({ endpoint }: RequestReport, { model }: Attempt): string {
  return `${operationOf(endpoint)} ${model}`
}

export function attemptAttributes(
  { endpoint, call }: RequestReport,
  { provider, model, status, outcome, ms }: Attempt,
  error: string | undefined,
  kindOf: KindOf,
): SpanAttributes {
  const attributes: SpanAttributes = {
    'gen_ai.operation.name': operationOf(endpoint),
    'gen_ai.provider.name': providerName(provider, kindOf),
    'gen_ai.request.model': model,
    'turnpike.request_id': call.requestId,
    'turnpike.provider': provider,
    'turnpike.outcome': outcome,
  }
  if (outcome === 'answered') attributes[FIRST_CHUNK] = ms / 1000
  if (status !== null) attributes['http.response.status_code'] = status
  if (error !== undefined) attributes['error.type'] = error
  return attributes
}

function operationOf(endpoint: Endpoint): string {
  return endpoint === 'embeddings' ? 'embeddings' : 'chat'
}

const NAMES_OF_KINDS: Readonly<Record<ProviderKind, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  bedrock: 'aws.bedrock',
  cohere: 'cohere',
  demo: 'turnpike.demo',
}

// Many speak OpenAI's protocol: those that the conventions name are recognised by the usual id.
const NAMES_OF_IDS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  deepseek: 'deepseek',
  groq: 'groq',
  mistral: 'mistral_ai',
  perplexity: 'perplexity',
  xai: 'x_ai',
}

function providerName(id: string, kindOf: KindOf): string {
  const kind = kindOf(id)
  if (kind === 'openai') return NAMES_OF_IDS[id] ?? 'openai'
  return kind === undefined ? id : NAMES_OF_KINDS[kind]
}
