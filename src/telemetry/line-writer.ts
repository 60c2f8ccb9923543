// Writes lines to a file descriptor from two fixed buffers: one fills while the other is being written, off the event loop.
// Memory is bounded by their size; when both are full, lines are dropped and counted. See
// docs/decisions/libraries-and-packaging.md.
import { write, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

export type LineWriter = {
  // Whole lines: one as text, or several as bytes.
  write(lines: string | Buffer): void
  // Writes buffered lines synchronously, for an unprepared exit. What is already being written is left to that write: it cannot
  // be cancelled, and would appear twice.
  flush(): void
  // For the end of a process: resolves when everything is written, or when the reader has stalled for too long.
  end(): Promise<void>
}

const BUFFER_BYTES = 512 * 1024
const FLUSH_BYTES = 32 * 1024
const FLUSH_MS = 100
// A pipe with a slow reader returns EAGAIN.
const RETRY_MS = 20
// A slow reader gets the last lines; a stalled one does not delay the exit for longer than a second.
const FLUSH_TRIES_MAX = 50
const END_LOOK_MS = 5
const END_LOOKS_MAX = 200

export function lineWriter(fd: number): LineWriter {
  let filling = Buffer.allocUnsafe(BUFFER_BYTES)
  let other = Buffer.allocUnsafe(BUFFER_BYTES)
  let filled = 0
  let dropped = 0
  // The remainder of the buffer being written; `retry` while no write of it is in progress.
  let busy: { from: number; readonly to: number; retry?: NodeJS.Timeout | undefined } | undefined
  let timer: NodeJS.Timeout | undefined

  function send(): void {
    clearTimeout(timer)
    timer = undefined
    if (busy !== undefined || filled === 0) return
    busy = { from: 0, to: filled }
    ;[filling, other] = [other, filling]
    filled = 0
    proceed()
  }

  function proceed(): void {
    if (busy === undefined) return
    busy.retry = undefined
    write(fd, other, busy.from, busy.to - busy.from, null, (error, written) => {
      if (busy === undefined) return
      if (error?.code === 'EAGAIN') {
        busy.retry = setTimeout(proceed, RETRY_MS).unref()
        return
      }
      busy.from += error === null ? written : busy.to
      if (busy.from < busy.to) return proceed()
      busy = undefined
      if (filled >= FLUSH_BYTES) send()
    })
  }

  return {
    write(lines) {
      const isText = typeof lines === 'string'
      // A UTF-16 unit takes at most three bytes.
      if (filled + (isText ? lines.length * 3 : lines.length) > BUFFER_BYTES) {
        dropped += isText ? 1 : linesIn(lines)
        return
      }
      if (dropped > 0) {
        const lost = dropped
        dropped = 0
        filled += filling.write(`{"level":"warn","msg":"log lines dropped","lines":${lost}}\n`, filled)
      }
      filled += isText ? filling.write(lines, filled) : lines.copy(filling, filled)
      if (filled >= FLUSH_BYTES) send()
      else timer ??= setTimeout(send, FLUSH_MS).unref()
    },
    flush() {
      const until = { tries: FLUSH_TRIES_MAX }
      if (busy?.retry !== undefined) {
        clearTimeout(busy.retry)
        writeWhole(fd, other.subarray(busy.from, busy.to), until)
        busy = undefined
      }
      writeWhole(fd, filling.subarray(0, filled), until)
      filled = 0
    },
    async end() {
      send()
      for (let looks = 0; busy !== undefined && looks < END_LOOKS_MAX; looks++) {
        await sleep(END_LOOK_MS)
        send()
      }
      if (busy === undefined) return
      // Nobody reads, and a later flush need not wait for that once more.
      clearTimeout(busy.retry)
      busy = undefined
      filled = 0
    },
  }
}

function linesIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf('\n'); at >= 0; at = bytes.indexOf('\n', at + 1)) count += 1
  return count
}

function writeWhole(fd: number, bytes: Buffer, until: { tries: number }): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at)
    } catch (error) {
      // Otherwise there is no reader any more.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || until.tries === 0) return
      until.tries -= 1
      Atomics.wait(PAUSE, 0, 0, RETRY_MS)
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4))
