// Built-in data about known providers: address, differences from OpenAI's protocol, usual key variable. Data only;
// docs/providers.md has the same as a table. See docs/decisions/provider-protocols.md.
import { NO_QUIRKS, type Provider, type ProviderKind, type Quirks } from './catalog.ts'

export type Preset = {
  // Null where every customer has a separate address.
  readonly baseUrl: string | null
  // The environment variable that usually holds its key; null if there is none.
  readonly apiKeyVariable: string | null
  readonly needsKey: boolean
  readonly quirks: Quirks
  readonly passthrough: readonly string[]
  readonly maxTokensField: Provider['maxTokensField']
  // Chat completions alone unless stated.
  readonly api?: NonNullable<Provider['api']>
  // Whether it is OpenAI's own Responses API.
  readonly openaiTools?: boolean
  // Whether it is on the public internet and fetches images from there.
  readonly remoteMedia: boolean
  // Known limitations, as a text for operators.
  readonly limitations: readonly string[]
}

// Sampling fields that OpenAI does not know and strict providers refuse.
const BEYOND_OPENAI = ['min_p', 'min_tokens', 'repetition_penalty', 'session_id', 'top_a', 'top_k', 'typical_p']
// Fields that only OpenAI itself reads and strict providers refuse.
const OPENAI_ALONE = [
  'modalities',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'safety_identifier',
  'store',
  'verbosity',
]
// Fields of an earlier answer that other providers expect back.
const THOUGHTS = ['messages.reasoning', 'messages.reasoning_content', 'messages.reasoning_details']

// Few hosts of third-party models know the role `developer`; all know `system`.
const NO_DEVELOPER: Quirks = { ...NO_QUIRKS, developerRole: false }

const AZURE = {
  apiKeyVariable: 'AZURE_OPENAI_API_KEY',
  needsKey: true,
  passthrough: [],
  maxTokensField: 'max_completion_tokens',
  remoteMedia: true,
} as const

export const PRESETS = {
  openai: {
    baseUrl: 'https://api.openai.com/v1',
    apiKeyVariable: 'OPENAI_API_KEY',
    needsKey: true,
    quirks: { ...NO_QUIRKS, leavesOut: [...THOUGHTS, ...BEYOND_OPENAI], cacheKeyField: 'prompt_cache_key' },
    passthrough: [],
    maxTokensField: 'max_completion_tokens',
    api: 'auto',
    openaiTools: true,
    remoteMedia: true,
    limitations: ['reasoning models reject most sampling fields'],
  },
  azure: {
    ...AZURE,
    baseUrl: null,
    quirks: {
      ...NO_QUIRKS,
      authHeader: 'api-key',
      leavesOut: [...THOUGHTS, ...BEYOND_OPENAI],
      cacheKeyField: 'prompt_cache_key',
    },
    api: 'auto',
    openaiTools: true,
    limitations: [
      'base_url is https://RESOURCE.openai.azure.com/openai/v1',
      'the model of a target is the name of the deployment',
    ],
  },
  'azure-deployments': {
    ...AZURE,
    baseUrl: null,
    quirks: {
      ...NO_QUIRKS,
      authHeader: 'api-key',
      path: '/openai/deployments/{model}/chat/completions',
      query: { 'api-version': '2024-10-21' },
      leavesOut: BEYOND_OPENAI,
    },
    limitations: [
      'base_url is https://RESOURCE.openai.azure.com',
      'the model of a target is the name of the deployment',
      'models newer than the api-version need a newer one in query',
    ],
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    apiKeyVariable: 'OPENROUTER_API_KEY',
    needsKey: true,
    quirks: NO_DEVELOPER,
    passthrough: ['include_reasoning', 'reasoning', 'transforms'],
    maxTokensField: 'max_tokens',
    api: 'auto',
    remoteMedia: true,
    limitations: ['it does its own routing; Turnpike reads models and provider of a request and does not forward them'],
  },
  groq: {
    baseUrl: 'https://api.groq.com/openai/v1',
    apiKeyVariable: 'GROQ_API_KEY',
    needsKey: true,
    quirks: {
      ...NO_DEVELOPER,
      leavesOut: ['logit_bias', 'logprobs', 'top_logprobs', 'messages.name', ...BEYOND_OPENAI, ...OPENAI_ALONE],
    },
    passthrough: ['include_reasoning', 'reasoning_format'],
    maxTokensField: 'max_completion_tokens',
    remoteMedia: true,
    limitations: ['n must be 1'],
  },
  together: {
    baseUrl: 'https://api.together.xyz/v1',
    apiKeyVariable: 'TOGETHER_API_KEY',
    needsKey: true,
    quirks: NO_DEVELOPER,
    passthrough: [],
    maxTokensField: 'max_tokens',
    remoteMedia: true,
    limitations: ['not every model supports tools or a JSON schema'],
  },
  fireworks: {
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    apiKeyVariable: 'FIREWORKS_API_KEY',
    needsKey: true,
    quirks: { ...NO_DEVELOPER, cacheKeyField: 'prompt_cache_isolation_key' },
    passthrough: [],
    maxTokensField: 'max_tokens',
    remoteMedia: true,
    limitations: ['not every model supports tools or images'],
  },
  mistral: {
    baseUrl: 'https://api.mistral.ai/v1',
    apiKeyVariable: 'MISTRAL_API_KEY',
    needsKey: true,
    quirks: {
      ...NO_DEVELOPER,
      streamOptions: false,
      leavesOut: [
        ...['function_call', 'functions', 'logit_bias', 'logprobs', 'metadata', 'seed', 'service_tier'],
        ...['top_logprobs', 'user', 'messages.name', 'messages.refusal'],
        ...THOUGHTS,
        ...BEYOND_OPENAI,
        ...OPENAI_ALONE,
      ],
    },
    passthrough: ['prompt_mode', 'random_seed', 'safe_prompt'],
    maxTokensField: 'max_tokens',
    remoteMedia: true,
    limitations: ['rejects unknown fields', 'its name for seed is random_seed'],
  },
  deepseek: {
    baseUrl: 'https://api.deepseek.com/v1',
    apiKeyVariable: 'DEEPSEEK_API_KEY',
    needsKey: true,
    quirks: NO_DEVELOPER,
    passthrough: ['thinking'],
    maxTokensField: 'max_tokens',
    remoteMedia: true,
    limitations: ['response_format: json_object only', 'n must be 1'],
  },
  xai: {
    baseUrl: 'https://api.x.ai/v1',
    apiKeyVariable: 'XAI_API_KEY',
    needsKey: true,
    quirks: NO_DEVELOPER,
    passthrough: [],
    maxTokensField: 'max_completion_tokens',
    api: 'auto',
    remoteMedia: true,
    limitations: ['reasoning models reject stop and penalties', 'search has its own price and is not supported'],
  },
  cerebras: {
    baseUrl: 'https://api.cerebras.ai/v1',
    apiKeyVariable: 'CEREBRAS_API_KEY',
    needsKey: true,
    quirks: {
      ...NO_DEVELOPER,
      leavesOut: ['frequency_penalty', 'logit_bias', 'presence_penalty', ...BEYOND_OPENAI, ...OPENAI_ALONE],
    },
    passthrough: [],
    maxTokensField: 'max_completion_tokens',
    remoteMedia: true,
    limitations: ['n must be 1'],
  },
  deepinfra: {
    baseUrl: 'https://api.deepinfra.com/v1/openai',
    apiKeyVariable: 'DEEPINFRA_API_KEY',
    needsKey: true,
    quirks: NO_DEVELOPER,
    passthrough: [],
    maxTokensField: 'max_tokens',
    remoteMedia: true,
    limitations: ['not every model supports tools or images'],
  },
  nvidia: {
    baseUrl: 'https://integrate.api.nvidia.com/v1',
    apiKeyVariable: 'NVIDIA_API_KEY',
    needsKey: true,
    quirks: NO_DEVELOPER,
    passthrough: [],
    maxTokensField: 'max_tokens',
    remoteMedia: true,
    limitations: ['supported fields differ between models'],
  },
  ollama: {
    baseUrl: 'http://127.0.0.1:11434/v1',
    apiKeyVariable: null,
    needsKey: false,
    quirks: NO_DEVELOPER,
    passthrough: [],
    maxTokensField: 'max_tokens',
    remoteMedia: false,
    limitations: [
      'tool_choice, logit_bias and n are ignored',
      "the context length is the server's setting, not the model's",
    ],
  },
  vllm: {
    baseUrl: 'http://127.0.0.1:8000/v1',
    apiKeyVariable: null,
    needsKey: false,
    quirks: { ...NO_DEVELOPER, cacheKeyField: 'cache_salt' },
    passthrough: ['chat_template_kwargs', 'include_stop_str_in_output', 'skip_special_tokens', 'structured_outputs'],
    maxTokensField: 'max_tokens',
    remoteMedia: false,
    limitations: ['for tools, start the server with a tool parser'],
  },
  lmstudio: {
    baseUrl: 'http://127.0.0.1:1234/v1',
    apiKeyVariable: null,
    needsKey: false,
    quirks: NO_DEVELOPER,
    passthrough: [],
    maxTokensField: 'max_tokens',
    remoteMedia: false,
    limitations: ['response_format: json_schema only', 'n must be 1'],
  },
  llamacpp: {
    baseUrl: 'http://127.0.0.1:8080/v1',
    apiKeyVariable: null,
    needsKey: false,
    quirks: NO_DEVELOPER,
    passthrough: ['chat_template_kwargs'],
    maxTokensField: 'max_tokens',
    remoteMedia: false,
    limitations: ['for tools, start the server with --jinja', "its default port is Turnpike's: change one of them"],
  },
} as const satisfies Readonly<Record<string, Preset>>

// Whether an address without a preset belongs to a vendor.
export function isVendorAddress(baseUrl: string): boolean {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  return VENDOR_HOSTS.has(host) || host.endsWith('.openai.azure.com')
}

const VENDOR_HOSTS: ReadonlySet<string> = new Set(
  Object.values(PRESETS).flatMap(({ baseUrl, remoteMedia }) =>
    remoteMedia && baseUrl !== null ? [new URL(baseUrl).hostname] : [],
  ),
)

export type PresetName = keyof typeof PRESETS
export const PRESET_NAMES = Object.keys(PRESETS) as readonly PresetName[]

// The protocols that are spoken through the AI SDK's packages.
export type SdkKind = Exclude<ProviderKind, 'openai' | 'demo'>

export type SdkPreset = {
  // The package that must be installed in addition to Turnpike.
  readonly package: string
  readonly apiKeyVariable: string | null
  // Configuration keys that make up its address, in addition to or instead of `base_url`.
  readonly settings: readonly string[]
  readonly passthrough: readonly string[]
}

export const SDK_PRESETS: Readonly<Record<SdkKind, SdkPreset>> = {
  anthropic: {
    package: '@ai-sdk/anthropic',
    apiKeyVariable: 'ANTHROPIC_API_KEY',
    settings: ['project', 'location', 'token_url'],
    passthrough: ['reasoning', 'thinking'],
  },
  google: {
    package: '@ai-sdk/google',
    apiKeyVariable: 'GEMINI_API_KEY',
    settings: [],
    passthrough: ['reasoning', 'thinking'],
  },
  vertex: {
    package: '@ai-sdk/google-vertex',
    apiKeyVariable: null,
    settings: ['project', 'location', 'token_url'],
    passthrough: ['reasoning', 'thinking'],
  },
  bedrock: {
    package: '@ai-sdk/amazon-bedrock',
    apiKeyVariable: null,
    settings: ['region'],
    passthrough: ['reasoning', 'thinking'],
  },
  cohere: {
    package: '@ai-sdk/cohere',
    apiKeyVariable: 'COHERE_API_KEY',
    settings: [],
    passthrough: ['reasoning', 'thinking'],
  },
}

export function isSdkKind(kind: ProviderKind): kind is SdkKind {
  return Object.hasOwn(SDK_PRESETS, kind)
}

// Whether a provider is reached with Google's credentials: Google's models, and Anthropic's with a project.
export function isOnVertex({ kind, settings }: Pick<Provider, 'kind' | 'settings'>): boolean {
  return kind === 'vertex' || (kind === 'anthropic' && settings.project !== undefined)
}

export function packageOf(kind: SdkKind, settings: Provider['settings']): string {
  return SDK_PRESETS[isOnVertex({ kind, settings }) ? 'vertex' : kind].package
}

// The default address of a provider of such a kind; undefined when its settings do not determine one. Vertex without a project is
// its express mode, which needs only an API key.
export function sdkBaseUrl(kind: SdkKind, settings: Readonly<Record<string, string>>): string | undefined {
  const { project, location, region } = settings
  if (kind === 'anthropic' && project === undefined) return 'https://api.anthropic.com/v1'
  if (kind === 'google') return 'https://generativelanguage.googleapis.com/v1beta'
  if (kind === 'cohere') return 'https://api.cohere.com/v2'
  if (kind === 'bedrock')
    return region === undefined ? undefined : `https://bedrock-runtime.${region}.${awsDomain(region)}`
  if (project === undefined) return 'https://aiplatform.googleapis.com/v1/publishers/google'
  if (location === undefined) return undefined
  const [version, publisher] = kind === 'anthropic' ? ['v1', 'anthropic'] : ['v1beta1', 'google']
  return `https://${vertexHost(location)}/${version}/projects/${project}/locations/${location}/publishers/${publisher}`
}

function vertexHost(location: string): string {
  if (location === 'global') return 'aiplatform.googleapis.com'
  return location === 'eu' || location === 'us'
    ? `aiplatform.${location}.rep.googleapis.com`
    : `${location}-aiplatform.googleapis.com`
}

function awsDomain(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn'
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com'
}
