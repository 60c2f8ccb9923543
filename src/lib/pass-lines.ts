// Passes what a stream says on in whole lines; what it leaves unfinished at its end is finished.
import type { Readable } from 'node:stream'

const NEWLINE = 0x0a
// Longer than any line of ours; a line beyond it is passed on in pieces rather than kept.
const LINE_BYTES_MAX = 1024 * 1024

export function passLines(from: Readable, write: (line: string) => void): void {
  let rest: Buffer[] = []
  let restBytes = 0

  from.on('data', (chunk: Buffer) => {
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      const whole = Buffer.concat([...rest, chunk.subarray(0, end)]).toString()
      rest = []
      restBytes = 0
      for (const line of whole.split('\n').slice(0, -1)) write(`${line}\n`)
    }
    if (end < chunk.length) rest.push(chunk.subarray(end))
    restBytes += chunk.length - end
    if (restBytes > LINE_BYTES_MAX) finish()
  })
  from.on('end', finish)

  function finish(): void {
    if (restBytes > 0) write(`${Buffer.concat(rest).toString()}\n`)
    rest = []
    restBytes = 0
  }
}
