// The responses of /v1/messages as JSON Schema, for the OpenAPI document.
import Type from 'typebox'

const said = (description: string) => ({ description })
const Count = Type.Integer({ minimum: 0 })

const MessagesUsage = Type.Object({
  input_tokens: Type.Integer({ minimum: 0, ...said('Without what was read from the cache or written to it.') }),
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  output_tokens: Count,
  output_tokens_details: Type.Optional(Type.Object({ thinking_tokens: Count })),
  cost: Type.Number(said('Credits, with exact decimal digits.')),
})

export const MessagesAnswerShape = Type.Object({
  id: Type.String(said('`msg_` followed by the request id.')),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String(said('The id of the model that served.')),
  content: Type.Array(
    Type.Object(
      { type: Type.String(said('`text`, `thinking`, `redacted_thinking`, `tool_use`, or what the provider adds.')) },
      { additionalProperties: true },
    ),
    said('Content blocks, in order.'),
  ),
  stop_reason: Type.Union([Type.String(), Type.Null()]),
  stop_sequence: Type.Union([Type.String(), Type.Null()]),
  usage: MessagesUsage,
})

export const MessagesEventShape = Type.Object({
  type: Type.String(
    said(
      '`message_start`, `content_block_start`, `content_block_delta`, `content_block_stop`, `message_delta`, `message_stop`, `ping` or `error`.',
    ),
  ),
})

export const MessagesErrorShape = Type.Object({
  type: Type.Literal('error'),
  error: Type.Object({
    type: Type.String(said("Anthropic's type of the status.")),
    message: Type.String(),
    code: Type.String(said("Turnpike's own code; decide by it.")),
    param: Type.Optional(Type.String(said('The path of the field.'))),
    metadata: Type.Optional(Type.Object({}, { additionalProperties: true })),
  }),
  request_id: Type.String(),
})

export const TokenCountShape = Type.Object({ input_tokens: Count })
