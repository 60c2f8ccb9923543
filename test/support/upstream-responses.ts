// The scripted upstream in the dialect of OpenAI's Responses API: the same plan, with each frame of a chat written as events of
// a response.
import {
  type CalledTool,
  type ChatFrame,
  type ChatUsage,
  framed,
  type Piece,
  readCompletion,
} from './completion-parts.ts'

export const RESPONSE_ID = 'resp_upstream_id_canary'

type Item = Readonly<Record<string, unknown>> & { readonly type: string }

export function* responsePieces(pieces: Iterable<Piece>): Generator<Piece> {
  const output: Item[] = []
  const numbered = numbering()
  let open: { readonly kind: 'message' | 'reasoning'; text: string } | undefined
  let finish: string | null = null
  let usage: ChatUsage | undefined
  let model: string | undefined

  function end(): object[] {
    if (open === undefined) return []
    const item = open.kind === 'message' ? messageItem(open.text) : reasoningItem(open.text)
    open = undefined
    output.push(item)
    return [{ type: 'response.output_item.done', output_index: output.length - 1, item }]
  }

  function speak(kind: 'message' | 'reasoning', piece: string): object[] {
    const events = open?.kind === kind ? [] : end()
    const at = { output_index: output.length, item_id: kind === 'message' ? 'msg_up' : 'rs_up' }
    if (open === undefined) {
      open = { kind, text: '' }
      const item = kind === 'message' ? { ...messageItem(''), content: [] } : { ...reasoningItem(''), summary: [] }
      events.push({ type: 'response.output_item.added', output_index: output.length, item })
    }
    open.text += piece
    if (kind === 'message') events.push({ type: 'response.output_text.delta', ...at, content_index: 0, delta: piece })
    else events.push({ type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta: piece })
    return events
  }

  function call(called: CalledTool): object[] {
    const events = end()
    const output_index = output.length
    const item = callItem(called)
    const { arguments: delta } = called.function
    output.push(item)
    return [
      ...events,
      { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
      { type: 'response.function_call_arguments.delta', output_index, item_id: item.id, delta },
      { type: 'response.output_item.done', output_index, item },
    ]
  }

  for (const { json, produces } of pieces) {
    const frame = JSON.parse(json) as ChatFrame
    if (model === undefined) {
      model = frame.model
      const response = responseOf(model, 'in_progress', [], undefined)
      yield { json: numbered([{ type: 'response.created', response }]) }
    }
    if (frame.usage) usage = frame.usage
    const choice = frame.choices[0]
    if (choice?.finish_reason) finish = choice.finish_reason
    const { content, reasoning_content: thought, tool_calls: calls = [] } = choice?.delta ?? {}
    const events = [
      ...(thought ? speak('reasoning', thought) : []),
      ...(content ? speak('message', content) : []),
      ...calls.flatMap(call),
    ]
    if (events.length > 0) yield { json: numbered(events), ...(produces === undefined ? {} : { produces }) }
  }
  if (finish === null || model === undefined) return
  const status = finish === 'length' ? 'incomplete' : 'completed'
  const ended = end()
  yield {
    json: numbered([...ended, { type: `response.${status}`, response: responseOf(model, status, output, usage) }]),
  }
}

export function responseText(completion: string): string {
  const { model, usage, finish, content, thought, calls } = readCompletion(completion)
  const output = [
    ...(thought ? [reasoningItem(thought)] : []),
    ...(content ? [messageItem(content)] : []),
    ...calls.map(callItem),
  ]
  return JSON.stringify(responseOf(model, finish === 'length' ? 'incomplete' : 'completed', output, usage))
}

function responseOf(model: string, status: string, output: readonly Item[], usage: ChatUsage | undefined): object {
  return {
    id: RESPONSE_ID,
    object: 'response',
    created_at: 1_760_000_000,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    model,
    output,
    usage: usage === undefined ? null : own(usage),
  }
}

function messageItem(text: string): Item {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { type: 'message', id: 'msg_up', status: 'completed', role: 'assistant', content }
}

function reasoningItem(text: string): Item {
  return { type: 'reasoning', id: 'rs_up', summary: [{ type: 'summary_text', text }] }
}

function callItem({ id, function: called }: CalledTool): Item & { readonly id: string } {
  return { type: 'function_call', id: `fc_${id}`, call_id: id, status: 'completed', ...called }
}

function own({ prompt_tokens: input, completion_tokens: output, ...details }: ChatUsage): object {
  const { prompt_tokens_details: input_tokens_details, completion_tokens_details: output_tokens_details } = details
  return {
    ...(input === undefined ? {} : { input_tokens: input, input_tokens_details }),
    ...(output === undefined ? {} : { output_tokens: output, output_tokens_details }),
  }
}

function numbering(): (events: readonly object[]) => string {
  let next = 0
  return events => framed(events.map(event => ({ ...event, sequence_number: next++ })))
}
