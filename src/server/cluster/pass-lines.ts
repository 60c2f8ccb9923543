// Passes on a stream's output in whole lines; an unfinished line at its end is completed.
import type { Readable } from 'node:stream'

const NEWLINE = 0x0a
// Longer than any of our lines; a longer line is passed on in pieces instead of being buffered.
const LINE_BYTES_MAX = 1024 * 1024

// Several lines may be written at once; only their ends are located.
export function passLines(from: Readable, write: (lines: Buffer) => void): void {
  let rest: Buffer[] = []
  let restBytes = 0

  from.on('data', (chunk: Buffer) => {
    let begin = 0
    const end = chunk.lastIndexOf(NEWLINE) + 1
    // Written separately: if it is too long for the writer, no other line is lost with it.
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
