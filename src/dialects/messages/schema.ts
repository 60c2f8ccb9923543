// The schema of a Messages request, as data: it validates input and describes it in the OpenAPI document. Content blocks are
// checked one by one, by their type, so that an error names the block.
import Type from 'typebox'
import { ModelName, Name, ROUTING } from '../../chat/routing-preferences.ts'

const MESSAGES_MAX = 2048
const TOOLS_MAX = 512
const BUDGET_TOKENS_MIN = 1024

const Text = Type.String()
// Any object. Not a record: its members would be checked one by one.
const Anything = Type.Object({})
const Count = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

const Mark = Type.Object(
  {
    type: Type.Literal('ephemeral'),
    ttl: Type.Optional(Type.Enum(['5m', '1h'])),
    scope: Type.Optional(Type.String({ maxLength: 64 })),
  },
  { additionalProperties: false },
)
const marked = { cache_control: Type.Optional(Mark) }

const ImageSource = Type.Union([
  Type.Object({ type: Type.Literal('base64'), media_type: Type.String({ maxLength: 256 }), data: Text }),
  Type.Object({ type: Type.Literal('url'), url: Text }),
])

const DocumentSource = Type.Union([
  Type.Object({ type: Type.Literal('base64'), media_type: Type.String({ maxLength: 256 }), data: Text }),
  Type.Object({ type: Type.Literal('text'), media_type: Type.Optional(Text), data: Text }),
  Type.Object({ type: Type.Literal('url'), url: Text }),
  Type.Object({
    type: Type.Literal('content'),
    content: Type.Union([Text, Type.Array(Type.Object({ type: Type.String({ maxLength: 128 }) }))]),
  }),
])

// It may carry a signature.
const CallId = Type.String({ minLength: 1, maxLength: 65_536 })

const Blocks = Type.Array(Type.Object({ type: Type.String({ minLength: 1, maxLength: 128 }) }))

export const BLOCKS = {
  text: Type.Object({ type: Type.Literal('text'), text: Text, ...marked }),
  image: Type.Object({ type: Type.Literal('image'), source: ImageSource, ...marked }),
  document: Type.Object({
    type: Type.Literal('document'),
    source: DocumentSource,
    title: Type.Optional(Type.String({ maxLength: 1024 })),
    context: Type.Optional(Text),
    ...marked,
  }),
  tool_use: Type.Object({ type: Type.Literal('tool_use'), id: CallId, name: Name, input: Anything, ...marked }),
  tool_result: Type.Object({
    type: Type.Literal('tool_result'),
    tool_use_id: CallId,
    content: Type.Optional(Type.Union([Text, Blocks])),
    is_error: Type.Optional(Type.Boolean()),
    ...marked,
  }),
  thinking: Type.Object({ type: Type.Literal('thinking'), thinking: Text, signature: Type.Optional(Text) }),
  redacted_thinking: Type.Object({ type: Type.Literal('redacted_thinking'), data: Text }),
} as const
export type BlockType = keyof typeof BLOCKS

// A tool of the caller, or one that Anthropic defines, by its type.
const Tool = Type.Object({
  type: Type.Optional(Type.String({ maxLength: 128 })),
  name: Type.Optional(Name),
  description: Type.Optional(Text),
  input_schema: Type.Optional(Anything),
  strict: Type.Optional(Type.Boolean()),
  ...marked,
})

const ToolChoice = Type.Object({
  type: Type.Enum(['auto', 'any', 'tool', 'none']),
  name: Type.Optional(Name),
  disable_parallel_tool_use: Type.Optional(Type.Boolean()),
})

const Thinking = Type.Object({
  type: Type.Enum(['enabled', 'adaptive', 'disabled']),
  budget_tokens: Type.Optional(Type.Integer({ minimum: BUDGET_TOKENS_MIN, maximum: Number.MAX_SAFE_INTEGER })),
  display: Type.Optional(Type.Enum(['summarized', 'omitted'])),
})

const OutputFormat = Type.Object({ type: Type.Literal('json_schema'), schema: Anything })

// Fields that a provider of the same dialect gets as they are.
export const NATIVE = {
  system: Type.Optional(Type.Union([Text, Type.Array(BLOCKS.text)])),
  tools: Type.Optional(Type.Array(Tool, { maxItems: TOOLS_MAX })),
  tool_choice: Type.Optional(ToolChoice),
  stop_sequences: Type.Optional(Type.Array(Text, { maxItems: 64 })),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_k: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  thinking: Type.Optional(Thinking),
  output_config: Type.Optional(
    Type.Object({
      effort: Type.Optional(Type.Enum(['low', 'medium', 'high', 'xhigh', 'max'])),
      format: Type.Optional(OutputFormat),
    }),
  ),
  output_format: Type.Optional(OutputFormat),
  context_management: Type.Optional(
    Type.Object({
      edits: Type.Optional(Type.Array(Type.Object({ type: Type.String({ maxLength: 128 }) }), { maxItems: 16 })),
    }),
  ),
  service_tier: Type.Optional(Type.Enum(['auto', 'standard_only'])),
  speed: Type.Optional(Text),
  inference_geo: Type.Optional(Text),
  ...marked,
} as const

// The part that is checked at once; the content of messages follows block by block.
export const Envelope = Type.Object({
  model: ModelName,
  max_tokens: Count,
  messages: Type.Array(Type.Object({ role: Text, content: Type.Union([Text, Blocks]) }), {
    minItems: 1,
    maxItems: MESSAGES_MAX,
  }),
  stream: Type.Optional(Type.Boolean()),
  metadata: Type.Optional(Type.Object({ user_id: Type.Optional(Type.String({ maxLength: 1024 })) })),
  session_id: Type.Optional(Type.String({ maxLength: 1024 })),
  ...NATIVE,
  ...ROUTING,
})

// Tokens are counted of a request that need not name its maximum.
export const CountedEnvelope = Type.Object({ ...Envelope.properties, max_tokens: Type.Optional(Count) })

// The complete schema, for the OpenAPI document.
export const MessagesRequest = Type.Object({
  ...Envelope.properties,
  messages: Type.Array(
    Type.Object({
      role: Type.Enum(['user', 'assistant', 'system']),
      content: Type.Union([Text, Type.Array(Type.Union(Object.values(BLOCKS)))]),
    }),
    { minItems: 1, maxItems: MESSAGES_MAX },
  ),
})

export const CountTokensRequest = Type.Object({ ...MessagesRequest.properties, max_tokens: Type.Optional(Count) })
