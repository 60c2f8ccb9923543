// The events of a reasoning item: its text as a summary, and what the provider expects back as encrypted content.
import type { ItemContext } from './item-context.ts'
import { itemId, type Kept, keepReasoning, reasoningItem, reasoningText } from './output.ts'

export type ReasoningEvents = {
  // Whether a delta has reasoning for the caller.
  isSpoken(delta: Delta): boolean
  delta(delta: Delta): string
  end(): string
}

type Delta = Readonly<Record<string, unknown>>
type Open = { readonly place: number; readonly id: string; readonly pieces: string[]; readonly kept: Kept }

export function reasoningEvents(context: ItemContext): ReasoningEvents {
  const { requestId, carries, number, at, announce, close, keep, nextPlace } = context
  let open: Open | undefined

  return {
    isSpoken(delta) {
      const hasDetails = Array.isArray(delta.reasoning_details) && delta.reasoning_details.length > 0
      return (hasDetails && carries) || reasoningText(delta) !== ''
    },
    delta(delta) {
      let text = ''
      if (open === undefined) {
        const place = nextPlace()
        open = { place, id: itemId('rs', requestId, place), pieces: [], kept: keepReasoning() }
        text = announce(place, reasoningItem(open.id, '', undefined))
      }
      if (carries) open.kept.add(delta)
      const piece = reasoningText(delta)
      if (piece === '') return text
      const where = `${at(open.place, open.id)},"summary_index":0`
      if (open.pieces.length === 0)
        text += number('response.reasoning_summary_part.added', `${where},"part":{"type":"summary_text","text":""}`)
      open.pieces.push(keep(piece))
      return text + number('response.reasoning_summary_text.delta', `${where},"delta":${JSON.stringify(piece)}`)
    },
    end() {
      if (open === undefined) return ''
      const { place, id, pieces, kept } = open
      open = undefined
      const whole = pieces.join('')
      const item = reasoningItem(id, whole, carries ? kept.carried() : undefined)
      if (pieces.length === 0) return close(place, item)
      const json = JSON.stringify(whole)
      const where = `${at(place, id)},"summary_index":0`
      return (
        number('response.reasoning_summary_text.done', `${where},"text":${json}`) +
        number('response.reasoning_summary_part.done', `${where},"part":{"type":"summary_text","text":${json}}`) +
        close(place, item)
      )
    },
  }
}
