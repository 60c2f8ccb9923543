// Answers of a provider's Responses API for the scripted upstream, in the shape that OpenAI sends: a response object, or the
// events of one.
import type { JournalEntry } from './upstream-journal.ts'
import type { Plan } from './upstream-plan.ts'

type Item = Readonly<Record<string, unknown>> & { readonly type: string }

export type ResponseAnswer = {
  readonly output: readonly Item[]
  readonly usage?: object | null
  readonly status?: 'completed' | 'incomplete' | 'failed'
  readonly reason?: string
  readonly error?: object
  // Sends the items with the terminal event only.
  readonly atEnd?: boolean
  // Ends the events after that many.
  readonly cutAfter?: number
  // Events before the terminal one that no client knows.
  readonly unknown?: readonly Item[]
}

export const USAGE = {
  input_tokens: 20,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 6,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 26,
}

// A plan for whichever form the gateway requests.
export function answersAs(answer: ResponseAnswer): (entry: JournalEntry) => Plan {
  return ({ body, stream }) => {
    const response = responseOf(answer, body as object)
    if (!stream) return { body: JSON.stringify(response) }
    const frames = eventsFor(answer, response).map(frameOf)
    return { rawFrames: frames.slice(0, answer.cutAfter) }
  }
}

export function textItem(text: string): Item {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { type: 'message', id: 'msg_up_1', status: 'completed', role: 'assistant', content }
}

export function callItem(name: string, args: string, fields: object = {}): Item {
  const named = { call_id: 'call_up_1', name, arguments: args }
  return { type: 'function_call', id: 'fc_up_1', status: 'completed', ...named, ...fields }
}

function responseOf(answer: ResponseAnswer, request: object): Readonly<Record<string, unknown>> {
  const { output, usage = USAGE, status = 'completed', reason, error = null } = answer
  return {
    id: 'resp_up_1',
    object: 'response',
    created_at: 1_750_000_000,
    status,
    error,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: null,
    metadata: {},
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    temperature: 1,
    top_p: 1,
    ...request,
    model: 'upstream-name',
    vendor_field: { kept: true },
    output,
    usage,
  }
}

function eventsFor(answer: ResponseAnswer, response: Readonly<Record<string, unknown>>): readonly Item[] {
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  const events: Item[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...(answer.atEnd === true ? [] : answer.output.flatMap(itemEvents)),
    ...(answer.unknown ?? []),
    { type: `response.${answer.status ?? 'completed'}`, response },
  ]
  return events.map((event, sequence_number) => ({ ...event, sequence_number }))
}

function itemEvents(item: Item, output_index: number): Item[] {
  const at = { item_id: item.id, output_index }
  const added = { type: 'response.output_item.added', output_index, item: { ...item, ...emptied(item) } }
  const done = { type: 'response.output_item.done', output_index, item }
  return [added, ...innerEvents(item, at), done]
}

function emptied(item: Item): object {
  if (item.type === 'function_call') return { arguments: '', status: 'in_progress' }
  if (item.type === 'custom_tool_call') return { input: '', status: 'in_progress' }
  return item.type === 'message'
    ? { content: [], status: 'in_progress' }
    : { summary: [], encrypted_content: undefined }
}

function innerEvents(item: Item, at: object): Item[] {
  if (item.type === 'function_call') {
    const text = String(item.arguments)
    return [
      ...pieces(text).map(delta => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
      { type: 'response.function_call_arguments.done', ...at, arguments: text },
    ]
  }
  if (item.type === 'custom_tool_call') {
    const text = String(item.input)
    return [
      ...pieces(text).map(delta => ({ type: 'response.custom_tool_call_input.delta', ...at, delta })),
      { type: 'response.custom_tool_call_input.done', ...at, input: text },
    ]
  }
  if (item.type === 'reasoning')
    return (item.summary as { text: string }[]).flatMap((part, i) => summaryEvents(part, i, at))
  return (item.content as { text: string }[]).flatMap((part, i) => textEvents(part, i, at))
}

function summaryEvents(part: { readonly text: string }, summary_index: number, ofItem: object): Item[] {
  const at = { ...ofItem, summary_index }
  return [
    { type: 'response.reasoning_summary_part.added', ...at, part: { ...part, text: '' } },
    ...pieces(part.text).map(delta => ({ type: 'response.reasoning_summary_text.delta', ...at, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, text: part.text },
    { type: 'response.reasoning_summary_part.done', ...at, part },
  ]
}

function textEvents(part: { readonly text: string }, content_index: number, ofItem: object): Item[] {
  const at = { ...ofItem, content_index }
  return [
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    ...pieces(part.text).map(delta => ({
      type: 'response.output_text.delta',
      ...at,
      delta,
      logprobs: [],
      obfuscation: 'x',
    })),
    { type: 'response.output_text.done', ...at, text: part.text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
  ]
}

function pieces(text: string): string[] {
  return text.match(/.{1,4}/gsu) ?? []
}

function frameOf(event: Item): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
