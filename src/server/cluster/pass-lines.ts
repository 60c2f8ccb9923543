// Passes what a stream says on in whole lines; what it leaves unfinished at its end is finished.
import type { Readable } from 'node:stream'

const NEWLINE = 0x0a
// Longer than any line of ours; a line beyond it is passed on in pieces rather than kept.
const LINE_BYTES_MAX = 1024 * 1024

// Several lines may be written at once; they are not looked at, only where they end.
export function passLines(from: Readable, write: (lines: Buffer) => void): void {
  let rest: Buffer[] = []
  let restBytes = 0

  from.on('data', (chunk: Buffer) => {
    let begin = 0
    const end = chunk.lastIndexOf(NEWLINE) + 1
    // By itself: if it is too long for whoever writes it, no other line is lost with it.
    if (restBytes > 0 && end > 0) {
      begin = chunk.indexOf(NEWLINE) + 1
      write(Buffer.concat([...rest, chunk.subarray(0, begin)]))
      forget()
    }
    if (begin < end) write(chunk.subarray(begin, end))
    if (end < chunk.length) rest.push(chunk.subarray(end))
    restBytes += chunk.length - end
    if (restBytes > LINE_BYTES_MAX) finish()
  })
  from.on('end', finish)

  function finish(): void {
    if (restBytes > 0) write(Buffer.concat([...rest, Buffer.from('\n')]))
    forget()
  }

  function forget(): void {
    rest = []
    restBytes = 0
  }
}
