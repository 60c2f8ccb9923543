// Received bytes that are not consumed yet, in one buffer. A piece that finds the queue empty is kept without a copy; later ones
// are copied into a buffer that doubles, so bytes that arrive one by one cost no more memory or time than all at once.

export type ByteQueue = {
  size(): number
  append(piece: Buffer): void
  // A view of the first bytes. Bytes that were taken or viewed are never overwritten.
  peek(bytes: number): Buffer
  take(bytes: number): Buffer
  clear(): void
}

const EMPTY = Buffer.alloc(0)
const CAPACITY_MIN = 1024

export function byteQueue(): ByteQueue {
  let buffer: Buffer = EMPTY
  let start = 0
  let end = 0
  // Only a buffer that was allocated here may be written into.
  let isOwn = false

  function append(piece: Buffer): void {
    const length = end - start
    if (length === 0) {
      buffer = piece
      start = 0
      end = piece.length
      isOwn = false
      return
    }
    if (!isOwn || buffer.length - end < piece.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(CAPACITY_MIN, 2 * (length + piece.length)))
      buffer.copy(larger, 0, start, end)
      buffer = larger
      start = 0
      end = length
      isOwn = true
    }
    end += piece.copy(buffer, end)
  }

  function peek(bytes: number): Buffer {
    if (start === 0 && end === buffer.length && end <= bytes) return buffer
    return buffer.subarray(start, Math.min(end, start + bytes))
  }

  return {
    size: () => end - start,
    append,
    peek,
    take(bytes) {
      const taken = peek(bytes)
      start += taken.length
      if (start === end) clear()
      return taken
    },
    clear,
  }

  function clear(): void {
    buffer = EMPTY
    start = 0
    end = 0
    isOwn = false
  }
}
