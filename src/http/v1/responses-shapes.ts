// The answers of /v1/responses as JSON Schema, for the OpenAPI document.
import Type from 'typebox'

const said = (description: string) => ({ description })
const Count = Type.Integer({ minimum: 0 })
const open = { additionalProperties: true }

const ResponsesUsage = Type.Object({
  input_tokens: Type.Integer({ minimum: 0, ...said('Including what was read from the cache or written to it.') }),
  input_tokens_details: Type.Object({ cached_tokens: Count, cache_write_tokens: Count }),
  output_tokens: Type.Integer({ minimum: 0, ...said('Including reasoning.') }),
  output_tokens_details: Type.Object({ reasoning_tokens: Count }),
  total_tokens: Count,
  cost: Type.Number(said('Credits, with exact decimal digits.')),
})

export const ResponseShape = Type.Object(
  {
    id: Type.String(said('`resp_` followed by the request id.')),
    object: Type.Literal('response'),
    created_at: Type.Integer(),
    status: Type.Enum(['in_progress', 'completed', 'incomplete', 'failed']),
    error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }, open), Type.Null()]),
    incomplete_details: Type.Union([Type.Object({ reason: Type.String() }), Type.Null()]),
    model: Type.String(said('The id of the model that served.')),
    output: Type.Array(
      Type.Object(
        {
          type: Type.String(
            said('`message`, `reasoning`, `function_call`, `custom_tool_call`, or what the provider adds.'),
          ),
        },
        open,
      ),
      said('Items, in order.'),
    ),
    store: Type.Literal(false),
    usage: Type.Union([ResponsesUsage, Type.Null()]),
  },
  { ...open, ...said('Has the fields of the request too.') },
)

export const ResponseEventShape = Type.Object(
  {
    type: Type.String(said('Such as `response.created` or `response.output_text.delta`.')),
    sequence_number: Count,
  },
  open,
)
