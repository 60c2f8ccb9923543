// The schemas of a provider and of a model: the configuration file and the admin API are validated by them, and the OpenAPI
// document publishes them.
import { type Static, Type } from 'typebox'
import { BOUNDS } from '../config/limits.ts'
import { MODALITIES, MODEL_TYPES, PRICE_TIERS_MAX, PROVIDER_APIS, PROVIDER_KINDS } from '../domain/catalog.ts'
import { PRESET_NAMES } from '../domain/presets.ts'
import { STRATEGIES } from '../domain/routing.ts'

const PROVIDER_ID = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'
const MODEL_ID = '^[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,255}$'
const ALIAS = '^[A-Za-z0-9*][A-Za-z0-9._:@/+*-]{0,255}$'
const TARGET_MODEL = '^[!-~]{1,256}$'
const SECRET = '^[ -~]+$'
const ADDRESS = '^ *[Hh][Tt][Tt][Pp][Ss]?:'
// A part of a host's name.
const REGION = '^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$'
// A part of a path; the project of a domain is `example.com:name`.
const PROJECT = '^(?:[a-z0-9][a-z0-9.-]{0,62}:)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$'
const PATH = '^/(?:[!-~](?<![?#\\{\\}])|\\{model\\})*$'
const FIELD_NAME = '^[A-Za-z_][A-Za-z0-9_]{0,63}$'
// US dollars to the pico-dollar, factors to the millionth, credits to the nano-credit; zeros may follow.
const USD = '^\\d{1,12}(\\.\\d{1,12}0*)?$'
const FACTOR = '^\\d{1,12}(\\.\\d{1,6}0*)?$'
const CREDITS = '^\\d{1,12}(\\.\\d{1,9}0*)?$'

export const USD_WORDS =
  'US dollars per token as a plain decimal such as "0.0000025": not negative, no exponent, at most 12 decimals'
export const FACTOR_WORDS = 'a plain decimal such as "1.25": above 0, at most 1000000, no exponent, at most 6 decimals'

// The description of each pattern, as it reads after "must be".
export const PATTERN_WORDS: Readonly<Record<string, string>> = {
  [PROVIDER_ID]: '1 to 64 letters, digits, dots, dashes or underscores, starting with a letter or digit',
  [MODEL_ID]: '1 to 256 letters, digits or . _ : @ / + -, starting with a letter or digit',
  [ALIAS]: '1 to 256 letters, digits or . _ : @ / + - *, starting with a letter, a digit or *',
  [TARGET_MODEL]: '1 to 256 visible ASCII characters',
  [SECRET]: 'visible ASCII characters',
  [ADDRESS]: 'an http:// or https:// address',
  [REGION]: '1 to 32 lower-case letters, digits or dashes',
  [PROJECT]: '1 to 63 lower-case letters, digits or dashes, after a domain and a colon where it has one',
  [PATH]: 'a path that begins with a slash: visible ASCII characters without ? and #, {model} where the model goes',
  [FIELD_NAME]: 'the name of a field (letters, digits and underscores), or null',
  [USD]: USD_WORDS,
  [FACTOR]: FACTOR_WORDS,
  [CREDITS]: 'credits as a plain decimal: not negative, no exponent, at most 9 decimals',
}

const DECIMALS: ReadonlySet<unknown> = new Set([USD, FACTOR, CREDITS])

// Money and factors are strings, since a number would be a float before anybody could check it. In a file they may be unquoted:
// the text is used as written.
export function isDecimal({ pattern }: { readonly pattern?: string }): boolean {
  return DECIMALS.has(pattern)
}

export const strict = { additionalProperties: false }
export const TEXT_MAX = 256
export const Text = Type.String({ maxLength: TEXT_MAX })
export const Factor = Type.String({ pattern: FACTOR, maxLength: 64 })
export const Credits = Type.String({ pattern: CREDITS, maxLength: 64 })
const TOKENS = { minimum: 1, maximum: 100_000_000 }
export const TokenCount = Type.Integer(TOKENS)
// In one alias: each is looked for in every name that is neither an id nor another alias.
export const STARS_MAX = 4
const DIMENSIONS = { minimum: 1, maximum: 65_536 }

export const texts = (maxItems: number, description?: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: TEXT_MAX }), {
    maxItems,
    ...(description === undefined ? {} : { description }),
  })

export const Secret = Type.String({
  minLength: 1,
  maxLength: 16_384,
  pattern: SECRET,
  description:
    'Encrypted when it arrives, never shown. At most 4,096 characters without spaces; 16,384 on Vertex, where it may be the JSON of a service account.',
})

const address = (description: string) => Type.String({ maxLength: 2048, pattern: ADDRESS, description })
const region = (description: string) => Type.String({ pattern: REGION, description })
const pairs = (description: string) =>
  Type.Record(Type.String(), Type.String({ maxLength: 1024 }), { maxProperties: BOUNDS.namesPerListMax, description })
const Seconds = Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 24 * 3600 }))

export const ProviderSchema = Type.Object(
  {
    id: Type.String({ pattern: PROVIDER_ID }),
    kind: Type.Enum([...PROVIDER_KINDS], { description: 'Which API the provider speaks.' }),
    preset: Type.Optional(
      Type.Enum([...PRESET_NAMES], { description: 'Defaults for a known provider of kind `openai`.' }),
    ),
    base_url: Type.Optional(address('Required for kind `openai` unless its preset has one.')),
    proxy: Type.Optional(
      address(
        'The HTTP proxy that it is called through, instead of the one in the environment: `http://user:password@host:port`. User and password are encrypted when they arrive, and never shown.',
      ),
    ),
    api_key: Type.Optional(Secret),
    api_keys: Type.Optional(
      Type.Array(Secret, {
        maxItems: BOUNDS.credentialsPerProviderMax,
        description: 'Several credentials; they take turns.',
      }),
    ),
    passthrough: Type.Optional(
      texts(BOUNDS.namesPerListMax, 'Fields that are forwarded in addition to the usual ones.'),
    ),
    remote_media: Type.Optional(Type.Boolean({ description: 'Whether images are forwarded by URL.' })),
    max_tokens_field: Type.Optional(Type.Enum(['max_tokens', 'max_completion_tokens'])),
    api: Type.Optional(
      Type.Enum([...PROVIDER_APIS], {
        description:
          'For kind `openai`: which of its APIs is called. `auto`: Responses for callers that speak it and for models that need it, chat completions otherwise. By the preset or the address unless given; else `chat`.',
      }),
    ),
    timeouts: Type.Optional(
      Type.Object(
        { connect: Seconds, first_byte_stream: Seconds, first_byte_json: Seconds, idle: Seconds, total: Seconds },
        { ...strict, description: 'In seconds.' },
      ),
    ),
    headers: Type.Optional(pairs('Headers of every call. Not for secrets.')),
    auth_header: Type.Optional(Type.Enum(['authorization', 'api-key'])),
    path: Type.Optional(
      Type.String({ maxLength: TEXT_MAX, pattern: PATH, description: 'Follows the base URL; `{model}` is replaced.' }),
    ),
    query: Type.Optional(pairs('Query parameters of every call.')),
    leaves_out: Type.Optional(
      texts(BOUNDS.namesPerListMax, 'Fields that are not sent; `messages.name` is a field of a message.'),
    ),
    stream_options: Type.Optional(
      Type.Boolean({ description: 'Whether `stream_options: {include_usage: true}` is sent.' }),
    ),
    developer_role: Type.Optional(Type.Boolean({ description: 'False: `developer` messages are sent as `system`.' })),
    cache_key_field: Type.Optional(
      Type.Union([Type.String({ pattern: FIELD_NAME }), Type.Null()], {
        description: 'The field that partitions the prompt cache by account; null for none.',
      }),
    ),
    region: Type.Optional(region('Required for kind `bedrock`.')),
    project: Type.Optional(
      Type.String({
        pattern: PROJECT,
        description: 'For kind `vertex`, and for kind `anthropic` on Vertex; with `location`.',
      }),
    ),
    location: Type.Optional(region('With `project`.')),
    token_url: Type.Optional(address('On Vertex: where access tokens are requested.')),
  },
  strict,
)

const Usd = Type.String({ pattern: USD, maxLength: 64 })
const TOKEN_RATES = {
  prompt: Usd,
  completion: Type.Optional(Usd),
  input_cache_read: Type.Optional(Usd),
  input_cache_write: Type.Optional(Usd),
  input_cache_write_1h: Type.Optional(Usd),
  image: Type.Optional(Usd),
  audio: Type.Optional(Usd),
}
const Tier = Type.Object(
  {
    above_prompt_tokens: Type.Integer({ ...TOKENS, description: 'Applies to prompts with more tokens than this.' }),
    ...TOKEN_RATES,
  },
  strict,
)
export const Rates = Type.Object(
  {
    ...TOKEN_RATES,
    request: Type.Optional(Usd),
    tiers: Type.Optional(
      Type.Array(Tier, {
        maxItems: PRICE_TIERS_MAX,
        description:
          'Prices of longer prompts, in ascending order: all tokens of a request have the prices of the last tier that its prompt is long enough for. A price that only the base states applies in a tier too, or the prompt price of the tier if that is higher.',
      }),
    ),
  },
  {
    ...strict,
    description:
      'US dollars per token, and per request, as decimal strings. `completion` is required unless the model embeds. The cache prices default to the price of the prompt; without `input_cache_write_1h` the cache of one hour is not offered. `image` and `audio` are for tokens of the prompt that the provider reports as such and that are not cached; they default to the price of the prompt too.',
  },
)

const TargetSchema = Type.Object(
  {
    provider: Text,
    model: Type.String({ pattern: TARGET_MODEL, description: "The provider's own name of the model." }),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, default: 0 })),
    weight: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 1 })),
    cost: Type.Optional(Rates),
  },
  strict,
)

export const ModelSchema = Type.Object(
  {
    id: Type.String({ pattern: MODEL_ID }),
    aliases: Type.Optional(
      Type.Array(Type.String({ pattern: ALIAS }), {
        maxItems: BOUNDS.namesPerListMax,
        description: `Other names; \`*\` matches any characters, at most ${STARS_MAX} times in one alias.`,
      }),
    ),
    name: Type.Optional(Text),
    description: Type.Optional(Type.String({ maxLength: 4096 })),
    owned_by: Type.Optional(Text),
    type: Type.Optional(Type.Enum([...MODEL_TYPES], { default: 'chat' })),
    context_length: Type.Integer({ ...TOKENS, description: 'Tokens; of one input for type `embedding`.' }),
    max_output_tokens: Type.Optional(
      Type.Integer({ ...TOKENS, description: 'Required for type `chat`; does not apply to type `embedding`.' }),
    ),
    dimensions: Type.Optional(
      Type.Integer({ ...DIMENSIONS, description: 'The size of the vectors. Required for type `embedding`.' }),
    ),
    dimensions_min: Type.Optional(
      Type.Integer({
        ...DIMENSIONS,
        description: 'The smallest `dimensions` that callers may request. Without it they cannot change the size.',
      }),
    ),
    input_modalities: Type.Optional(
      Type.Array(Type.Enum([...MODALITIES]), { maxItems: MODALITIES.length, description: 'Must list `text`.' }),
    ),
    media_max_tokens: Type.Optional(
      Type.Integer({
        ...TOKENS,
        description: 'The most tokens that one image or file may count. Required where a modality is not `text`.',
      }),
    ),
    hidden_reasoning: Type.Optional(
      Type.Boolean({ description: 'Whether it may reason without the caller seeing it. By its name unless given.' }),
    ),
    supported_parameters: Type.Optional(texts(BOUNDS.namesPerListMax)),
    strategy: Type.Optional(Type.Enum([...STRATEGIES], { default: 'priority' })),
    pricing: Rates,
    targets: Type.Array(TargetSchema, { minItems: 1, maxItems: BOUNDS.targetsPerModelMax }),
  },
  strict,
)

export type ProviderInput = Static<typeof ProviderSchema>
export type ModelInput = Static<typeof ModelSchema>
export type RatesInput = Static<typeof Rates>
export type TierInput = Static<typeof Tier>
export type TokenRatesInput = Omit<RatesInput, 'request' | 'tiers'>
