// Watches that an answer stays within its bounds while somebody else puts it together: the whole of it, or the single event
// of a stream, which would otherwise be gathered without end.

export type AnswerBounds = { readonly answerBytesMax: number; readonly sseEventBytesMax: number }

// Looks at the next bytes; words mean that they are too many.
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
    return bytes > max ? `the answer is over ${max} bytes` : undefined
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

// Amazon's event stream: each frame begins with its own length, four bytes, the highest first.
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
