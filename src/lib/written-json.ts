// JSON that a model writes, such as the arguments of a call: parsed only where that does not delay other requests, and watched for
// its end while it grows.
import { guardText, type TextBounds } from './json-guard.ts'

const BOUNDS: TextBounds = { depthMax: 1000, membersMax: 50_000 }

// Undefined if it is not JSON, or is nested too deeply, or has too many members.
export function parseWritten(text: string): unknown {
  if (guardText(text, BOUNDS) !== 'ok') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export type WrittenEnd = {
  // Looks at each character once.
  push(piece: string): void
  // Whether what was written so far has the brackets of one whole object, and nothing after it. True once, so that it is parsed
  // once.
  takeReached(): boolean
}

const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT, BLANK] = [34, 92, 91, 93, 123, 125, 32]

export function writtenEnd(): WrittenEnd {
  let depth = 0
  let isInString = false
  let isEscaped = false
  let state: 'before' | 'inside' | 'after' | 'never' = 'before'

  function take(code: number): void {
    if (isEscaped) isEscaped = false
    else if (isInString) {
      isEscaped = code === BACKSLASH
      isInString = code !== QUOTE
    } else if (code > BLANK && state !== 'inside') {
      state = state === 'before' && code === OPEN_OBJECT ? 'inside' : 'never'
      depth = 1
    } else if (code === QUOTE) isInString = true
    else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
    else if ((code === CLOSE_OBJECT || code === CLOSE_LIST) && --depth === 0) state = 'after'
  }

  return {
    push(piece) {
      for (let i = 0; i < piece.length && state !== 'never'; i++) take(piece.charCodeAt(i))
    },
    takeReached() {
      const isReached = state === 'after'
      if (isReached) state = 'never'
      return isReached
    },
  }
}
