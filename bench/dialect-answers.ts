// What the upstream of the benchmark answers in each dialect: about the same text, the same number of events.

import type { Dialect } from './answer-reader.ts'

const WORDS = 48
const TEXT = 'A short answer, of the length of one sentence.'
const EMBEDDING = Buffer.from(Float32Array.from({ length: 256 }, (_, i) => Math.sin(i)).buffer).toString('base64')

type Others = Exclude<Dialect, 'chat'>

export const JSON_ANSWERS: Readonly<Record<Others, object>> = {
  messages: {
    ...message([{ type: 'text', text: TEXT }]),
    stop_reason: 'end_turn',
    usage: { input_tokens: 24, output_tokens: 10 },
  },
  responses: response('completed', [outputMessage(TEXT)]),
  embeddings: {
    object: 'list',
    model: 'bench',
    data: [{ object: 'embedding', index: 0, embedding: EMBEDDING }],
    usage: { prompt_tokens: 8, total_tokens: 8 },
  },
}

export const STREAMS: Readonly<Record<Others, readonly object[]>> = {
  messages: messageEvents(),
  responses: responseEvents().map((event, sequence_number) => ({ ...event, sequence_number })),
  embeddings: [],
}

function message(content: readonly object[]) {
  return {
    id: 'msg_bench',
    type: 'message',
    role: 'assistant',
    model: 'bench',
    content,
    stop_reason: null as string | null,
    stop_sequence: null,
  }
}

function messageEvents(): readonly object[] {
  const words = Array.from({ length: WORDS }, (_, i) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: ` word${i}` },
  }))
  return [
    { type: 'message_start', message: { ...message([]), usage: { input_tokens: 24, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ...words,
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: WORDS } },
    { type: 'message_stop' },
  ]
}

function response(status: string, output: readonly object[]) {
  return {
    id: 'resp_bench',
    object: 'response',
    created_at: 1750000000,
    status,
    model: 'bench',
    output,
    error: null,
    incomplete_details: null,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    usage: {
      input_tokens: 24,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 34,
    },
  }
}

function outputMessage(text: string) {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { id: 'msg_bench', type: 'message', role: 'assistant', status: 'completed', content }
}

function responseEvents(): readonly object[] {
  const at = { item_id: 'msg_bench', output_index: 0, content_index: 0 }
  const text = Array.from({ length: WORDS }, (_, i) => ` word${i}`).join('')
  const item = outputMessage(text)
  const empty = { ...item, status: 'in_progress', content: [] }
  const begun = { ...response('in_progress', []), usage: null }
  const [part] = item.content
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', output_index: 0, item: empty },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...Array.from({ length: WORDS }, (_, i) => ({
      type: 'response.output_text.delta',
      ...at,
      delta: ` word${i}`,
      logprobs: [],
    })),
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: response('completed', [item]) },
  ]
}
