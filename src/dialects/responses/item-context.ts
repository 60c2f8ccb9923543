// What the events of all output items of one response share: their places, their numbers, and the closed items themselves.
import type { Numbering } from './numbering.ts'
import type { ToolNames } from './tool-names.ts'

export type ItemSetup = {
  readonly requestId: string
  readonly names: ToolNames
  // Whether the caller takes reasoning to send it back.
  readonly carries: boolean
  readonly number: Numbering['write']
}

export type ItemContext = ItemSetup & {
  nextPlace(): number
  // The fields that name an item in its events.
  at(place: number, id: string): string
  announce(place: number, item: object): string
  close(place: number, item: object): string
  // Text that the terminal event repeats.
  keep(text: string): string
  // Whether the terminal event repeats log probabilities, after this many characters more.
  keepsLogprobs(chars: number): boolean
  // All closed items as JSON.
  output(): string
}

// An answer is repeated in its terminal event: beyond this length it cannot be.
const KEPT_CHARS_MAX = 4 * 1024 * 1024
// With twenty alternatives a token has some 1,500 characters of log probabilities, and twice as many bytes as objects. Beyond this
// length they are only in the deltas.
const LOGPROBS_CHARS_MAX = 1024 * 1024

export function itemContext(setup: ItemSetup): ItemContext {
  const { number } = setup
  // By their place.
  const closed: (string | undefined)[] = []
  let places = 0
  let keptChars = 0
  let logprobsChars = 0
  return {
    ...setup,
    nextPlace: () => places++,
    at: (place, id) => `"item_id":${JSON.stringify(id)},"output_index":${place}`,
    announce: (place, item) =>
      number('response.output_item.added', `"output_index":${place},"item":${JSON.stringify(item)}`),
    close(place, item) {
      const json = JSON.stringify(item)
      closed[place] = json
      keptChars += json.length
      return number('response.output_item.done', `"output_index":${place},"item":${json}`)
    },
    keep(text) {
      keptChars += text.length
      if (keptChars > KEPT_CHARS_MAX) throw new RangeError('the answer is too long for its terminal event')
      return text
    },
    keepsLogprobs(chars) {
      logprobsChars += chars
      return logprobsChars <= LOGPROBS_CHARS_MAX
    },
    output: () => `[${closed.filter(item => item !== undefined).join(',')}]`,
  }
}
