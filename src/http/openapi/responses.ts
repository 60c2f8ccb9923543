// The endpoint of OpenAI's Responses API as an OpenAPI operation.
import { ResponsesRequest } from '../../dialects/responses/schema.ts'
import { ResponseEventShape, ResponseShape } from '../v1/responses-shapes.ts'
import type { Brand, Operation, Paths, Response } from './document.ts'
import { v1Errors } from './errors.ts'
import { RESPONSES_ANSWER, RESPONSES_REQUEST, RESPONSES_STREAM } from './examples.ts'
import { chatHeaders } from './headers.ts'
import { described } from './schemas.ts'
import { type About, CODES, explainHeader, requestHeaders, v1Operation } from './v1.ts'

export function responsesPaths(brand: Brand): Paths {
  return { '/v1/responses': { post: responsesOperation(brand) } }
}

function responsesOperation(brand: Brand): Operation {
  const about: About = [
    'createResponse',
    'Responses',
    'Create a response in the format of the Responses API, as JSON or as a stream',
    'Requires the scope `chat.completions`. Every model can be called: the request passes through unchanged to providers that have this API, and is translated for all others. ' +
      'Nothing is stored: send the whole conversation as `input`. Limits, holds, failover and charges are those of chats.',
  ]
  const answer: Response = {
    description:
      'One JSON object, or with `stream: true` server-sent events that end with `response.completed`, `response.incomplete` or `response.failed`.',
    headers: chatHeaders(brand),
    content: {
      'application/json': { schema: described(ResponseShape), example: RESPONSES_ANSWER },
      'text/event-stream': {
        schema: {
          type: 'string',
          description: 'Server-sent events, each named by its type and numbered from 0.',
          contentMediaType: 'application/json',
          contentSchema: described(ResponseEventShape),
        },
        example: RESPONSES_STREAM,
      },
    },
  }
  return {
    ...v1Operation(about, [...requestHeaders(brand), explainHeader(brand)], {
      '200': answer,
      ...v1Errors(CODES, brand),
    }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(ResponsesRequest), example: RESPONSES_REQUEST } },
    },
  }
}
