// Reads the lines of a stream in bounded memory: a line that is too long is skipped to its end and reported as undefined.
import type { Readable } from 'node:stream'

const NEWLINE = 0x0a

export async function* readLines(from: Readable, lineBytesMax: number): AsyncGenerator<string | undefined> {
  let rest: Buffer[] = []
  let restBytes = 0
  for await (const chunk of from as AsyncIterable<Buffer>) {
    let begin = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, begin)) {
      yield lineOf(chunk.subarray(begin, end))
      begin = end + 1
    }
    const left = chunk.subarray(begin)
    restBytes += left.length
    // Beyond the bound only the length is kept.
    if (restBytes <= lineBytesMax) rest.push(left)
    else rest = []
  }
  if (restBytes > 0) yield lineOf(Buffer.alloc(0))

  function lineOf(last: Buffer): string | undefined {
    const bytes = restBytes + last.length
    const line = bytes > lineBytesMax ? undefined : Buffer.concat([...rest, last]).toString()
    rest = []
    restBytes = 0
    return line
  }
}
