// The scripted upstream in Anthropic's dialect: the same plan, with each frame of a chat written as events of Messages.
import { type ChatFrame, type ChatUsage, framed, type Piece, readCompletion, type Spoken } from './completion-parts.ts'

export const MESSAGE_ID = 'msg_upstream_id_canary'

export function* messagePieces(pieces: Iterable<Piece>, promptTokens: number): Generator<Piece> {
  let started = false
  let blocks = 0
  let open: string | undefined
  let stopReason: string | null = null
  let usage: ChatUsage | undefined
  const stop = () => (open === undefined ? [] : [{ type: 'content_block_stop', index: blocks - 1 }])

  function begin(kind: string, block: object): object[] {
    if (open === kind && kind !== 'tool_use') return []
    const events = [...stop(), { type: 'content_block_start', index: blocks, content_block: { type: kind, ...block } }]
    open = kind
    blocks += 1
    return events
  }
  const delta = (fields: object) => ({ type: 'content_block_delta', index: blocks - 1, delta: fields })

  function eventsOf({ content, reasoning_content: thought, tool_calls: calls = [] }: Spoken): object[] {
    const events: object[] = []
    if (thought)
      events.push(
        ...begin('thinking', { thinking: '', signature: '' }),
        delta({ type: 'thinking_delta', thinking: thought }),
      )
    if (content) events.push(...begin('text', { text: '' }), delta({ type: 'text_delta', text: content }))
    for (const { id, function: called } of calls) {
      events.push(...begin('tool_use', { id, name: called.name, input: {} }))
      events.push(delta({ type: 'input_json_delta', partial_json: called.arguments }))
    }
    return events
  }

  for (const { json, produces } of pieces) {
    const frame = JSON.parse(json) as ChatFrame
    if (!started) {
      started = true
      const input = { input_tokens: promptTokens, output_tokens: 1 }
      const message = { id: MESSAGE_ID, type: 'message', role: 'assistant', model: frame.model, content: [] }
      yield { json: framed([{ type: 'message_start', message: { ...message, stop_reason: null, usage: input } }]) }
    }
    if (frame.usage) usage = frame.usage
    const choice = frame.choices[0]
    if (choice?.finish_reason) stopReason = STOP_REASONS[choice.finish_reason] ?? choice.finish_reason
    const events = eventsOf(choice?.delta ?? {})
    if (events.length > 0) yield { json: framed(events), ...(produces === undefined ? {} : { produces }) }
  }
  if (stopReason === null) return
  const ending = { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage: own(usage) }
  yield { json: framed([...stop(), ending, { type: 'message_stop' }]) }
}

export function messageText(completion: string): string {
  const { model, usage, finish, content, thought, calls } = readCompletion(completion)
  return JSON.stringify({
    id: MESSAGE_ID,
    type: 'message',
    role: 'assistant',
    model,
    content: [
      ...(thought ? [{ type: 'thinking', thinking: thought, signature: 'signed' }] : []),
      ...(content ? [{ type: 'text', text: content }] : []),
      ...calls.map(({ id, function: called }) => ({
        type: 'tool_use',
        id,
        name: called.name,
        input: JSON.parse(called.arguments),
      })),
    ],
    stop_reason: STOP_REASONS[finish] ?? finish,
    stop_sequence: null,
    usage: own(usage),
  })
}

const STOP_REASONS: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
}

function own(usage: ChatUsage | undefined): object {
  if (usage === undefined) return {}
  const { prompt_tokens: input, completion_tokens: output } = usage
  return {
    ...(input === undefined ? {} : { input_tokens: input }),
    ...(output === undefined ? {} : { output_tokens: output }),
  }
}
