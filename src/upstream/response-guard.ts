// Checks that an answer stays within its bounds while a package assembles it: the whole answer, or a single event of a stream,
// which would otherwise be collected without limit.

export type AnswerBounds = { readonly answerBytesMax: number; readonly sseEventBytesMax: number }

// Checks the next bytes; returns a message if they exceed the bound.
export type Guard = (chunk: Buffer) => string | undefined

export function answerGuard(contentType: string, { answerBytesMax, sseEventBytesMax }: AnswerBounds): Guard {
  const type = contentType.toLowerCase()
  if (type.startsWith('text/event-stream')) return sseGuard(sseEventBytesMax)
  if (type.startsWith('application/vnd.amazon.eventstream')) return frameGuard(sseEventBytesMax)
  return wholeGuard(answerBytesMax)
}

function wholeGuard(max: number): Guard {
  let bytes = 0
  return chunk => {
    bytes += chunk.length
    return bytes > max ? `the response is over ${max} bytes` : undefined
  }
}

// An event ends with an empty line.
function sseGuard(max: number): Guard {
  let bytes = 0
  let isLineEmpty = true
  return chunk => {
    for (const byte of chunk) {
      bytes += 1
      if (byte === LINE_FEED) {
        if (isLineEmpty) bytes = 0
        isLineEmpty = true
      } else if (byte !== CARRIAGE_RETURN) isLineEmpty = false
    }
    return bytes > max ? `an event is over ${max} bytes` : undefined
  }
}

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

// Amazon's event stream: each frame begins with its own length, four bytes, big-endian.
function frameGuard(max: number): Guard {
  let length = 0
  let lengthBytes = 0
  let left = 0
  return chunk => {
    for (let at = 0; at < chunk.length; ) {
      if (lengthBytes < LENGTH_BYTES) {
        length = length * 256 + (chunk[at] as number)
        lengthBytes += 1
        at += 1
        if (lengthBytes === LENGTH_BYTES) left = length - LENGTH_BYTES
        continue
      }
      if (length > max) return `a frame is over ${max} bytes`
      const taken = Math.max(1, Math.min(left, chunk.length - at))
      at += taken
      left -= taken
      if (left <= 0) {
        length = 0
        lengthBytes = 0
      }
    }
    return undefined
  }
}

const LENGTH_BYTES = 4

// Checks the next bytes; returns a message if a parser would take too long for them. The content of Amazon's frames is not
// checked.
export function shapeGuard(contentType: string): Guard {
  const type = contentType.toLowerCase()
  if (type.startsWith('application/vnd.amazon.eventstream')) return () => undefined
  const isStream = type.startsWith('text/event-stream')
  let depth = 0
  let members = 0
  let inString = false
  let isEscaped = false
  let isLineEmpty = true

  // Every event is parsed separately.
  function endLine(): void {
    if (isLineEmpty) {
      depth = members = 0
      inString = isEscaped = false
    }
    isLineEmpty = true
  }

  return chunk => {
    for (const byte of chunk) {
      if (isStream && byte === LINE_FEED) {
        endLine()
        continue
      }
      if (byte !== CARRIAGE_RETURN) isLineEmpty = false
      if (inString) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) inString = false
      } else if (byte === QUOTE) inString = true
      else if (byte === COMMA) members += 1
      else if ((byte | 0x20) === OPEN) {
        depth += 1
        if (depth > DEPTH_MAX) return 'nested too deeply'
      } else if ((byte | 0x20) === CLOSE) depth -= 1
    }
    return members > MEMBERS_MAX ? 'too many members' : undefined
  }
}

const DEPTH_MAX = 1000
const MEMBERS_MAX = 50_000
const BACKSLASH = 0x5c
const QUOTE = 0x22
const COMMA = 0x2c
// A bracket and a brace differ in one bit.
const OPEN = 0x7b
const CLOSE = 0x7d
