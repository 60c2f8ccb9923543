// The schema of a request to OpenAI's Responses API, as data: it validates input and describes it in the OpenAPI document.
import Type from 'typebox'
import { ModelName, Name, ROUTING } from '../../chat/routing-preferences.ts'

export const INCLUDED_MAX = 32
const ITEMS_MAX = 4096
const TOOLS_MAX = 512
const SUMMARIES_MAX = 256

const Text = Type.String()
const Id = Type.Optional(Type.String({ maxLength: 256 }))
const Anything = Type.Object({})
const Detail = Type.Optional(Type.Enum(['auto', 'low', 'high', 'original']))
const Status = Type.Optional(Type.Enum(['in_progress', 'completed', 'incomplete']))
const breakpoint = { prompt_cache_breakpoint: Type.Optional(Anything) }

// Of items and parts only the fields listed here are forwarded. Media are checked by the rules of a chat.
export const PARTS = {
  input_text: Type.Object({ type: Type.Literal('input_text'), text: Text, ...breakpoint }),
  output_text: Type.Object({
    type: Type.Literal('output_text'),
    text: Text,
    annotations: Type.Optional(Type.Array(Anything)),
    logprobs: Type.Optional(Type.Array(Anything)),
  }),
  refusal: Type.Object({ type: Type.Literal('refusal'), refusal: Text }),
  input_image: Type.Object({
    type: Type.Literal('input_image'),
    image_url: Type.String({ description: 'An `https:` or `data:` URL.' }),
    detail: Detail,
    ...breakpoint,
  }),
  input_file: Type.Object({
    type: Type.Literal('input_file'),
    file_data: Type.String({ description: 'The data itself, as base64 or a `data:` URL.' }),
    filename: Type.Optional(Type.String({ maxLength: 1024 })),
    detail: Detail,
    ...breakpoint,
  }),
} as const
export type PartType = keyof typeof PARTS

// Items and parts are checked one by one, by their type, so that an error can name them.
const Parts = Type.Array(Type.Object({ type: Type.String() }))
const Output = Type.Union([Text, Parts])
const SummaryPart = Type.Object({ type: Type.Literal('summary_text'), text: Text })
const ReasoningPart = Type.Object({ type: Type.Literal('reasoning_text'), text: Text })

export const ITEMS = {
  message: Type.Object({
    type: Type.Optional(Type.Literal('message')),
    id: Id,
    role: Type.Enum(['user', 'assistant', 'system', 'developer']),
    content: Type.Union([Text, Parts]),
    status: Status,
    phase: Type.Optional(Type.String({ maxLength: 64 })),
  }),
  function_call: Type.Object({
    type: Type.Literal('function_call'),
    id: Id,
    call_id: Name,
    name: Name,
    namespace: Type.Optional(Name),
    arguments: Text,
    status: Status,
  }),
  function_call_output: Type.Object({
    type: Type.Literal('function_call_output'),
    id: Id,
    call_id: Name,
    output: Output,
    status: Status,
  }),
  custom_tool_call: Type.Object({
    type: Type.Literal('custom_tool_call'),
    id: Id,
    call_id: Name,
    name: Name,
    namespace: Type.Optional(Name),
    input: Text,
    status: Status,
  }),
  custom_tool_call_output: Type.Object({
    type: Type.Literal('custom_tool_call_output'),
    id: Id,
    call_id: Name,
    output: Output,
    status: Status,
  }),
  reasoning: Type.Object({
    type: Type.Literal('reasoning'),
    id: Id,
    summary: Type.Array(SummaryPart, { maxItems: SUMMARIES_MAX }),
    content: Type.Optional(Type.Array(ReasoningPart, { maxItems: SUMMARIES_MAX })),
    encrypted_content: Type.Optional(Text),
    status: Status,
  }),
} as const
export type ItemType = keyof typeof ITEMS

const FunctionTool = Type.Object({
  type: Type.Literal('function'),
  name: Name,
  description: Type.Optional(Text),
  parameters: Type.Optional(Anything),
  strict: Type.Optional(Type.Boolean()),
})
const CustomTool = Type.Object({
  type: Type.Literal('custom'),
  name: Name,
  description: Type.Optional(Text),
  format: Type.Optional(
    Type.Object({
      type: Type.Enum(['text', 'grammar']),
      syntax: Type.Optional(Type.Enum(['lark', 'regex'])),
      definition: Type.Optional(Text),
    }),
  ),
})
const NamespaceTool = Type.Object({
  type: Type.Literal('namespace'),
  name: Name,
  description: Type.Optional(Text),
  tools: Type.Array(Type.Object({ type: Type.Enum(['function', 'custom']), name: Name }), { maxItems: TOOLS_MAX }),
})

// The tools that the caller runs. A provider's own tools have no price here.
export const TOOLS = { function: FunctionTool, custom: CustomTool, namespace: NamespaceTool } as const
export type ToolType = keyof typeof TOOLS

const Format = Type.Object({
  type: Type.Enum(['text', 'json_object', 'json_schema']),
  name: Type.Optional(Name),
  description: Type.Optional(Text),
  schema: Type.Optional(Anything),
  strict: Type.Optional(Type.Boolean()),
})
const Identifier = Type.Optional(Type.String({ maxLength: 1024 }))

const fields = {
  model: ModelName,
  instructions: Type.Optional(Text),
  stream: Type.Optional(Type.Boolean()),
  stream_options: Type.Optional(Anything),
  max_output_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  temperature: Type.Optional(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  top_logprobs: Type.Optional(Type.Integer({ minimum: 0, maximum: 20 })),
  tool_choice: Type.Optional(
    Type.Union([Type.Enum(['none', 'auto', 'required']), Type.Object({ type: Type.String() })]),
  ),
  parallel_tool_calls: Type.Optional(Type.Boolean()),
  reasoning: Type.Optional(
    Type.Object({
      effort: Type.Optional(Type.String({ maxLength: 64 })),
      summary: Type.Optional(Type.String({ maxLength: 64 })),
      generate_summary: Type.Optional(Type.String({ maxLength: 64 })),
    }),
  ),
  include: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: INCLUDED_MAX })),
  text: Type.Optional(
    Type.Object({
      format: Type.Optional(Format),
      verbosity: Type.Optional(Type.Enum(['low', 'medium', 'high'])),
    }),
  ),
  truncation: Type.Optional(Type.Enum(['auto', 'disabled'])),
  metadata: Type.Optional(Anything),
  store: Type.Optional(Type.Boolean({ description: 'Accepted; nothing is stored, and the answer says `false`.' })),
  service_tier: Type.Optional(Text),
  user: Identifier,
  safety_identifier: Identifier,
  prompt_cache_key: Identifier,
  prompt_cache_retention: Type.Optional(Type.String({ maxLength: 64 })),
  prompt_cache_options: Type.Optional(Anything),
  session_id: Identifier,
  ...ROUTING,
}

// The part that is checked at once; items and tools follow one by one.
export const Envelope = Type.Object({
  ...fields,
  input: Type.Union([Text, Type.Array(Anything, { minItems: 1, maxItems: ITEMS_MAX })]),
  tools: Type.Optional(Type.Array(Type.Object({ type: Type.String() }), { maxItems: TOOLS_MAX })),
})

// The complete schema, for the OpenAPI document.
export const ResponsesRequest = Type.Object({
  ...fields,
  input: Type.Union([Text, Type.Array(Type.Union(Object.values(ITEMS)), { minItems: 1, maxItems: ITEMS_MAX })]),
  tools: Type.Optional(Type.Array(Type.Union(Object.values(TOOLS)), { maxItems: TOOLS_MAX })),
})
