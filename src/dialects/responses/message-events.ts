// The events of a message item: its parts are text and refusals, each announced, filled and closed.
import type { ItemContext } from './item-context.ts'
import { type ItemStatus, itemId, messageItem, type OutputPart, textPart } from './output.ts'

export type MessageEvents = {
  isOpen(): boolean
  delta(type: OutputPart['type'], piece: string, logprobs: readonly unknown[]): string
  end(status: ItemStatus): string
}

type OpenPart = { readonly type: OutputPart['type']; readonly pieces: string[]; readonly logprobs: unknown[] }
type Open = { readonly place: number; readonly id: string; readonly parts: OutputPart[]; part: OpenPart | undefined }

export function messageEvents(context: ItemContext): MessageEvents {
  const { requestId, number, at, announce, close, keep, keepsLogprobs, nextPlace } = context
  let open: Open | undefined

  function whereIn({ place, id, parts }: Open): string {
    return `${at(place, id)},"content_index":${parts.length}`
  }

  function endPart(message: Open): string {
    if (message.part === undefined) return ''
    const part = partOf(message.part)
    const where = whereIn(message)
    message.part = undefined
    message.parts.push(part)
    return doneOf(part, where) + number('response.content_part.done', `${where},"part":${JSON.stringify(part)}`)
  }

  function doneOf(part: OutputPart, where: string): string {
    if (part.type === 'refusal')
      return number('response.refusal.done', `${where},"refusal":${JSON.stringify(part.refusal)}`)
    const { text, logprobs } = part
    const fields = `"text":${JSON.stringify(text)},"logprobs":${JSON.stringify(logprobs)}`
    return number('response.output_text.done', `${where},${fields}`)
  }

  // All of a part, or none.
  function keepLogprobs(part: OpenPart, logprobs: readonly unknown[], chars: number): void {
    if (keepsLogprobs(chars)) for (const each of logprobs) part.logprobs.push(each)
    else part.logprobs.length = 0
  }

  return {
    isOpen: () => open !== undefined,
    delta(type, piece, logprobs) {
      let text = ''
      if (open === undefined) {
        const place = nextPlace()
        open = { place, id: itemId('msg', requestId, place), parts: [], part: undefined }
        text = announce(place, messageItem(open.id, 'in_progress', []))
      }
      if (open.part !== undefined && open.part.type !== type) text += endPart(open)
      const where = whereIn(open)
      if (open.part === undefined) {
        open.part = { type, pieces: [], logprobs: [] }
        text += number('response.content_part.added', `${where},"part":${JSON.stringify(partOf(open.part))}`)
      }
      open.part.pieces.push(keep(piece))
      const delta = `${where},"delta":${JSON.stringify(piece)}`
      if (type === 'refusal') return text + number('response.refusal.delta', delta)
      const json = JSON.stringify(logprobs)
      if (logprobs.length > 0) keepLogprobs(open.part, logprobs, json.length)
      return text + number('response.output_text.delta', `${delta},"logprobs":${json}`)
    },
    end(status) {
      if (open === undefined) return ''
      const message = open
      open = undefined
      return endPart(message) + close(message.place, messageItem(message.id, status, message.parts))
    },
  }
}

function partOf({ type, pieces, logprobs }: OpenPart): OutputPart {
  const text = pieces.join('')
  return type === 'refusal' ? { type, refusal: text } : textPart(text, logprobs)
}
