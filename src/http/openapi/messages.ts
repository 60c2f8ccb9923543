// The endpoints of Anthropic's dialect as OpenAPI operations.
import { messagesError } from '../../dialects/messages/errors.ts'
import { CountTokensRequest, MessagesRequest } from '../../dialects/messages/schema.ts'
import { MessagesAnswerShape, MessagesErrorShape, MessagesEventShape, TokenCountShape } from '../v1/messages-shapes.ts'
import type { Brand, Operation, Paths, Response } from './document.ts'
import { v1ErrorsAs } from './errors.ts'
import { MESSAGES_ANSWER, MESSAGES_REQUEST, MESSAGES_STREAM } from './examples.ts'
import { chatHeaders, v1Headers } from './headers.ts'
import { described } from './schemas.ts'
import { type About, CODES, explainHeader, QUOTED, requestHeaders, v1Operation } from './v1.ts'

export function messagesPaths(brand: Brand): Paths {
  return {
    '/v1/messages': { post: messagesOperation(brand) },
    '/v1/messages/count_tokens': { post: countOperation(brand) },
  }
}

const ERRORS = { schema: described(MessagesErrorShape), write: messagesError }

function messagesOperation(brand: Brand): Operation {
  const about: About = [
    'createMessage',
    'Messages',
    'Create a message in the format of Anthropic, as JSON or as a stream',
    'Requires the scope `chat.completions`. Every model can be called: the request passes through unchanged to providers of kind `anthropic`, and is translated for all others. ' +
      'Limits, holds, failover and charges are those of chats.',
  ]
  const answer: Response = {
    description: 'One JSON object, or with `stream: true` server-sent events that end with `message_stop`.',
    headers: chatHeaders(brand),
    content: {
      'application/json': { schema: described(MessagesAnswerShape), example: MESSAGES_ANSWER },
      'text/event-stream': {
        schema: {
          type: 'string',
          description: 'Server-sent events, each named by its type.',
          contentMediaType: 'application/json',
          contentSchema: described(MessagesEventShape),
        },
        example: MESSAGES_STREAM,
      },
    },
  }
  const errors = v1ErrorsAs(ERRORS, CODES, brand)
  return {
    ...v1Operation(about, [...requestHeaders(brand), explainHeader(brand)], { '200': answer, ...errors }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(MessagesRequest), example: MESSAGES_REQUEST } },
    },
  }
}

function countOperation(brand: Brand): Operation {
  const about: About = [
    'countMessageTokens',
    'Messages',
    'Count the tokens of a message request',
    "Requires the scope `chat.completions`. The provider's own count if the first provider is of kind `anthropic`, otherwise an estimate by the tokenizer. Counts as a request and is free.",
  ]
  const answer: Response = {
    description: 'The number of input tokens.',
    headers: v1Headers(brand, []),
    content: { 'application/json': { schema: described(TokenCountShape), example: { input_tokens: 14 } } },
  }
  const errors = v1ErrorsAs(ERRORS, [...QUOTED, 'upstream_rejected'], brand)
  const { max_tokens: _, ...example } = MESSAGES_REQUEST
  return {
    ...v1Operation(about, requestHeaders(brand), { '200': answer, ...errors }),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: described(CountTokensRequest), example } },
    },
  }
}
