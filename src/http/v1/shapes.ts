// The responses of /v1 as JSON Schema: the OpenAPI document and its page are made from them.
import Type, { type TSchema } from 'typebox'
import { MODEL_TYPES } from '../../domain/catalog.ts'
import { FINISH_REASONS } from '../../domain/handoff.ts'
import { REFUSALS } from '../../domain/refusal.ts'
import { BUDGET_STATE, ConsideredShape, Credits, ScopeName, Time, UsageShape } from '../admin/shapes.ts'
import { RATES } from '../price-shapes.ts'

const nullable = <T extends TSchema>(type: T) => Type.Union([type, Type.Null()])
const said = (description: string) => ({ description })
const Count = Type.Integer({ minimum: 0 })
const Id = Type.String(said('`chatcmpl-` followed by the request id.'))
const Created = Type.Integer(said('Time of the request, in seconds since 1970.'))
const Fingerprint = Type.String(said("The provider's fingerprint, or one of the gateway."))
const ServedModel = Type.String(said('The catalog id of the model that served.'))
const Logprobs = nullable(Type.Record(Type.String(), Type.Unknown()))

export const ErrorShape = Type.Object({
  error: Type.Object({
    message: Type.String(said('Human-readable; the wording may change.')),
    type: Type.Enum([...new Set(Object.values(REFUSALS).map(({ type }) => type))]),
    param: nullable(Type.String(said('Path of the invalid field, such as `messages.2.content`.'))),
    code: Type.Enum(Object.keys(REFUSALS), said('Machine-readable. New codes may be added.')),
    metadata: Type.Record(Type.String(), Type.Unknown(), said('Always `request_id`; the rest depends on the code.')),
  }),
})

export const CompletionUsageShape = Type.Object({
  prompt_tokens: Count,
  completion_tokens: Count,
  total_tokens: Count,
  prompt_tokens_details: Type.Object({
    cached_tokens: Count,
    image_tokens: Type.Optional(Count),
    audio_tokens: Type.Optional(Count),
  }),
  completion_tokens_details: Type.Object({ reasoning_tokens: Count }),
  cost: Type.Number({
    minimum: 0,
    description: 'Credits, exact; equal to the header and the usage record.',
  }),
})

const AnsweredToolCall = Type.Object({
  id: Type.String(),
  type: Type.String(),
  function: Type.Optional(Type.Object({ name: Type.String(), arguments: Type.String(said('JSON, as text.')) })),
})

const Metadata = Type.Object(
  { candidates: Type.Array(ConsideredShape) },
  said('Only if routing decisions were requested; on the first chunk of a stream.'),
)

export const ChatCompletionShape = Type.Object({
  id: Id,
  object: Type.Literal('chat.completion'),
  created: Created,
  model: ServedModel,
  system_fingerprint: Fingerprint,
  choices: Type.Array(
    Type.Object({
      index: Count,
      message: Type.Object({
        role: Type.Literal('assistant'),
        content: nullable(Type.String()),
        refusal: nullable(Type.String()),
        tool_calls: Type.Optional(Type.Array(AnsweredToolCall)),
      }),
      logprobs: Logprobs,
      finish_reason: Type.Enum([...FINISH_REASONS]),
    }),
  ),
  usage: CompletionUsageShape,
  metadata: Type.Optional(Metadata),
})

export const ChatChunkShape = Type.Object({
  id: Id,
  object: Type.Literal('chat.completion.chunk'),
  created: Created,
  model: ServedModel,
  system_fingerprint: Fingerprint,
  choices: Type.Array(
    Type.Object({
      index: Count,
      delta: Type.Object({
        role: Type.Optional(Type.Literal('assistant')),
        content: Type.Optional(nullable(Type.String())),
        refusal: Type.Optional(nullable(Type.String())),
        tool_calls: Type.Optional(Type.Array(Type.Record(Type.String(), Type.Unknown()))),
      }),
      logprobs: Type.Optional(Logprobs),
      finish_reason: nullable(Type.Enum([...FINISH_REASONS, 'error'])),
    }),
    said('Empty on the usage chunk.'),
  ),
  usage: Type.Optional(nullable(CompletionUsageShape)),
  metadata: Type.Optional(Metadata),
  error: Type.Optional(ErrorShape.properties.error),
})

export const EmbeddingsShape = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Count,
      embedding: Type.Union([
        Type.Array(Type.Number()),
        Type.String(said('With `encoding_format: base64`: 32-bit floats, little-endian.')),
      ]),
    }),
  ),
  model: ServedModel,
  usage: Type.Object({
    prompt_tokens: Count,
    total_tokens: Count,
    cost: CompletionUsageShape.properties.cost,
  }),
  metadata: Type.Optional(Metadata),
})

export const ModelShape = Type.Object({
  id: Type.String(),
  object: Type.Literal('model'),
  created: Type.Integer(),
  owned_by: Type.String(),
  name: Type.String(),
  description: Type.String(),
  context_length: Type.Integer(said('Tokens.')),
  type: Type.Enum([...MODEL_TYPES]),
  max_output_tokens: Type.Integer(said('Tokens; 0 for a model that embeds.')),
  dimensions: Type.Optional(Type.Integer(said('The size of the vectors, for a model that embeds.'))),
  dimensions_min: Type.Optional(
    nullable(Type.Integer(said('The smallest `dimensions` that may be requested; null: the size is fixed.'))),
  ),
  architecture: Type.Object({
    input_modalities: Type.Array(Type.String()),
    output_modalities: Type.Array(Type.String()),
  }),
  pricing: Type.Object({
    currency: Type.Literal('credits'),
    unit: Type.Literal('token'),
    ...RATES,
  }),
  price_version: Type.String(said('Changes whenever a price does.')),
  supported_parameters: Type.Array(Type.String()),
  providers: Type.Array(Type.String()),
  status: Type.Literal('active'),
})
export const ModelListShape = Type.Object({ object: Type.Literal('list'), data: Type.Array(ModelShape) })

export const KeyIntrospectionShape = Type.Object({
  object: Type.Literal('key'),
  id: Type.String(),
  name: Type.String(),
  label: Type.String(said('Prefix and last four characters of the secret.')),
  status: Type.Literal('active'),
  secret: Type.Object({
    state: Type.Enum(['current', 'grace'], said('`grace` when the call was made with an old secret.')),
    last4: Type.String(),
    grace_expires_at: nullable(Time),
  }),
  scopes: Type.Array(ScopeName),
  ip_allowlist: Type.Array(Type.String(), said('CIDR ranges; empty allows any address.')),
  limits: Type.Object({
    rpm: Type.Object({
      limit: Count,
      remaining: Count,
      reset: Type.Integer(said('Seconds until the bucket is full.')),
    }),
    daily: Type.Object({ limit: nullable(Count), used: Count, remaining: nullable(Count), resets_at: Time }),
    concurrent: Type.Object({ limit: Count, in_use: Count }),
  }),
  balance: Type.Object({
    currency: Type.Literal('credits'),
    remaining: Type.String(
      said(
        "Credits that a request can spend now: the account's balance, or the rest of the key's limit or of a budget.",
      ),
    ),
    held: Credits,
    owed: Credits,
  }),
  spent: Type.String(said('Credits that the key has spent in its life.')),
  spent_this_month: Credits,
  budgets: Type.Array(
    Type.Object({ owner: Type.Enum(['key', 'account'], said('Whose budget it is.')), ...BUDGET_STATE }),
    said('Budgets of the key and of its account.'),
  ),
  account: Type.Object({ id: Type.String(), name: Type.String(), status: Type.String() }),
  created_at: Time,
  expires_at: nullable(Time),
  last_used_at: nullable(Time),
})

const Verdict = Type.String(said('`ok`, or the error code of the chat request.'))
const Figures = Type.Object({ estimated: Count, worst_case: Count })

export const ChatQuoteShape = Type.Object({
  object: Type.Literal('chat.completion.quote'),
  model: Type.String(
    said(
      'The model that would be tried first. The estimate is for this model, the worst case for the most expensive candidate.',
    ),
  ),
  allowed: Type.Boolean(said('Whether the chat would pass all limits now.')),
  candidates: Type.Array(ConsideredShape),
  tokens: Type.Object({ prompt: Figures, completion: Figures }),
  cost: Type.Object({ currency: Type.Literal('credits'), estimated: Credits, worst_case: Credits }),
  hold: Type.String(said('Credits that would be held, for the most expensive candidate.')),
  output_cap: nullable(Type.Integer(said('Token limit per choice caused by a low balance.'))),
  limits: Type.Object({
    rpm: Type.Object({ verdict: Verdict, limit: Count, remaining: Count, reset: Count }),
    daily: Type.Object({
      verdict: Verdict,
      limit: nullable(Count),
      used: Count,
      remaining: nullable(Count),
      resets_at: Time,
    }),
    concurrent: Type.Object({ verdict: Verdict, limit: Count, in_use: Count }),
    credits: Type.Object({
      verdict: Verdict,
      limit: nullable(
        Type.Enum(['account', 'key', 'budget'], said('The balance, limit or budget that is insufficient.')),
      ),
      available: Credits,
      owed: Credits,
      required: Credits,
      affordable_max_tokens: Count,
    }),
  }),
})

export const UsageListShape = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(UsageShape),
  has_more: Type.Boolean(
    said('Whether there may be more rows. A page ends after scanning 10,000 rows, even if none matched.'),
  ),
  next_after: nullable(Type.String(said('The value of `after` for the next page.'))),
})
