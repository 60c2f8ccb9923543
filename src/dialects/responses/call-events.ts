// The events of tool calls: functions and custom tools, under the caller's own names. A call whose arguments may still grow
// stays open while the next one is written.
import { parseWritten, type WrittenEnd, writtenEnd } from '../../lib/written-json.ts'
import { carry, isRecord } from './carried-reasoning.ts'
import type { ItemContext } from './item-context.ts'
import { type CalledTool, type ChatCall, callItem, type ItemStatus, itemId, reasoningItem } from './output.ts'
import { customInput } from './tool-names.ts'

export type CallEvents = {
  // Whether it continues a call.
  isKnown(call: ChatCall): boolean
  delta(call: ChatCall): string
  // Closes the calls whose arguments are complete.
  endWhole(): string
  end(status: ItemStatus): string
}

type Open = CalledTool & {
  readonly place: number
  readonly id: string
  // A custom tool, called as a function.
  readonly isWrapped: boolean
  readonly pieces: string[]
  readonly whole: WrittenEnd
}

export function callEvents(context: ItemContext): CallEvents {
  const { requestId, names, number, at, announce, close, keep, nextPlace } = context
  const open = new Map<number, Open>()
  const ended = new Set<number>()
  // Open calls that have grown since they were last found to be incomplete.
  const grown = new Set<number>()

  function begin({ index, id: given, name: flat = '', ...call }: ChatCall): string {
    const isCustom = call.isCustom || names.called(flat)?.type === 'custom'
    const callId = given ?? `call_${requestId}_${index}`
    const before = signed(callId, call.extras)
    const place = nextPlace()
    const id = itemId(isCustom ? 'ctc' : 'fc', requestId, place)
    const begun = {
      place,
      id,
      callId,
      flat,
      isCustom,
      isWrapped: isCustom && !call.isCustom,
      pieces: [],
      whole: writtenEnd(),
    }
    open.set(index, begun)
    return before + announce(place, callItem(id, 'in_progress', begun, '', names))
  }

  // Fields of the call that its provider expects back.
  function signed(callId: string, extras: ChatCall['extras']): string {
    if (!context.carries || Object.keys(extras).length === 0) return ''
    const place = nextPlace()
    const id = itemId('rs', requestId, place)
    const content = carry({ calls: { [callId]: extras } })
    return announce(place, reasoningItem(id, '', undefined)) + close(place, reasoningItem(id, '', content))
  }

  function end(index: number, call: Open, status: ItemStatus): string {
    open.delete(index)
    grown.delete(index)
    ended.add(index)
    const { place, id, isCustom, isWrapped, pieces } = call
    const written = isWrapped ? customInput(pieces.join('')) : pieces.join('')
    const where = at(place, id)
    const json = JSON.stringify(written)
    let text = ''
    if (isWrapped && written !== '') text += number('response.custom_tool_call_input.delta', `${where},"delta":${json}`)
    text += isCustom
      ? number('response.custom_tool_call_input.done', `${where},"input":${json}`)
      : number('response.function_call_arguments.done', `${where},"arguments":${json}`)
    return text + close(place, callItem(id, status, call, written, names))
  }

  return {
    isKnown: ({ index }) => open.has(index) || ended.has(index),
    delta(call) {
      if (ended.has(call.index)) return ''
      const text = open.has(call.index) ? '' : begin(call)
      const { place, id, isCustom, isWrapped, pieces, whole } = open.get(call.index) as Open
      if (call.written === '') return text
      pieces.push(keep(call.written))
      whole.push(call.written)
      grown.add(call.index)
      // What a custom tool gets is known only when its function's arguments are complete.
      if (isWrapped) return text
      const type = isCustom ? 'response.custom_tool_call_input.delta' : 'response.function_call_arguments.delta'
      return text + number(type, `${at(place, id)},"delta":${JSON.stringify(call.written)}`)
    },
    endWhole() {
      let text = ''
      for (const index of grown) {
        const call = open.get(index) as Open
        const isPlainText = call.isCustom && !call.isWrapped
        if (isPlainText || !call.whole.takeReached()) continue
        if (isRecord(parseWritten(call.pieces.join('')))) text += end(index, call, 'completed')
      }
      grown.clear()
      return text
    },
    end(status) {
      let text = ''
      for (const [index, call] of open) text += end(index, call, status)
      return text
    },
  }
}
