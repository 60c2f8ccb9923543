// The events of a response's output items, made from the deltas of a chat: each item is announced, filled piece by piece and
// closed before the next begins.
import { callEvents } from './call-events.ts'
import { type ItemSetup, itemContext } from './item-context.ts'
import { messageEvents } from './message-events.ts'
import { chatCalls, type ItemStatus, logprobsOf } from './output.ts'
import { reasoningEvents } from './reasoning-events.ts'

export type ItemEvents = {
  delta(delta: Readonly<Record<string, unknown>>, logprobs: unknown): string
  // Closes what is open.
  end(status: ItemStatus): string
  // All items as JSON.
  output(): string
}

export function itemEvents(setup: ItemSetup): ItemEvents {
  const context = itemContext(setup)
  const reasoning = reasoningEvents(context)
  const message = messageEvents(context)
  const calls = callEvents(context)

  function speak(type: 'output_text' | 'refusal', piece: unknown, logprobs: readonly unknown[]): string {
    if (typeof piece !== 'string' || piece === '') return ''
    const before = message.isOpen() ? '' : reasoning.end() + calls.endWhole()
    return before + message.delta(type, piece, logprobs)
  }

  return {
    delta(delta, logprobs) {
      let text = ''
      if (reasoning.isSpoken(delta)) text += message.end('completed') + reasoning.delta(delta)
      text += speak('output_text', delta.content, logprobsOf(logprobs)) + speak('refusal', delta.refusal, [])
      for (const call of chatCalls(delta.tool_calls)) {
        if (!calls.isKnown(call)) text += reasoning.end() + message.end('completed') + calls.endWhole()
        text += calls.delta(call)
      }
      return text
    },
    end: status => reasoning.end() + message.end(status) + calls.end(status),
    output: context.output,
  }
}
