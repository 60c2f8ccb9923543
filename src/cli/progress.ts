// Progress of long commands: a line on stderr, if that is a terminal, and the progress of a migration.
import { systemClock } from '../lib/clock.ts'
import type { Tell } from '../store/transfer/transfer.ts'

export type Progress = {
  // Without a total, only the count is shown.
  show(done: number, total: number | undefined): void
  // Clears the line.
  end(): void
}

const REDRAW_MS = 100
const BAR_CHARS = 24
const CLEAR = '\r\u001b[2K'

export function progress(noun: string): Progress {
  if (!process.stderr.isTTY) return { show() {}, end() {} }
  let shownAt = Number.NEGATIVE_INFINITY
  return {
    show(done, total) {
      if (systemClock.monotonic() - shownAt < REDRAW_MS) return
      shownAt = systemClock.monotonic()
      process.stderr.write(`${CLEAR}${lineOf(done, total, noun)}`)
    },
    end() {
      if (shownAt > Number.NEGATIVE_INFINITY) process.stderr.write(CLEAR)
    },
  }
}

function lineOf(done: number, total: number | undefined, noun: string): string {
  const count = done.toLocaleString('en')
  if (total === undefined || total === 0) return `${count} ${noun}`
  const percent = Math.floor(Math.min(done / total, 1) * 100)
  return `${barOf(done, total)} ${percent} %  ${count} of ${total.toLocaleString('en')} ${noun}`
}

// A total of zero gives an empty bar.
function barOf(done: number, total: number): string {
  const part = total === 0 ? 0 : Math.min(done / total, 1)
  return '█'.repeat(Math.round(part * BAR_CHARS)).padEnd(BAR_CHARS, '░')
}

// Progress of a migration: a progress bar on a terminal, occasional lines in a pipe, nothing with --json.
type TransferProgress = Tell & { say(line: string): void; end(): void }

type Terminal = { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown }

const LINE_MS = 2000

export function openProgress(stream: Terminal, json: boolean): TransferProgress {
  const isTerminal = stream.isTTY === true
  const isSilent = json && !isTerminal
  let doing = ''
  let done = 0
  let rows = 0
  let copied = 0
  let began = systemClock.monotonic()
  let shownAt = 0
  let hasBar = false

  function clear(): void {
    if (hasBar) stream.write(CLEAR)
    hasBar = false
  }
  function say(line: string): void {
    clear()
    if (!isSilent) stream.write(`${line}\n`)
  }
  function show(): void {
    const now = systemClock.monotonic()
    if (now - shownAt < (isTerminal ? REDRAW_MS : LINE_MS)) return
    shownAt = now
    const seconds = (now - began) / 1000
    const figures = `${done} of ${rows} rows, ${copied} copied, ${Math.round(done / Math.max(seconds, 0.001))} rows/s`
    if (!isTerminal) {
      say(`${doing}: ${figures}`)
      return
    }
    const line = `${doing} ${barOf(done, rows)} ${figures}`
    stream.write(`${CLEAR}${line.slice(0, (stream.columns ?? 120) - 1)}`)
    hasBar = true
  }
  function closeStage(): void {
    if (doing === '') return
    const seconds = ((systemClock.monotonic() - began) / 1000).toFixed(1)
    say(rows === 0 ? `${doing}: ${seconds} s` : `${doing}: ${done} rows, ${copied} copied, ${seconds} s`)
    doing = ''
  }

  return {
    stage(stage, total) {
      closeStage()
      doing = stage
      rows = total
      done = 0
      copied = 0
      began = systemClock.monotonic()
      shownAt = began
      if (isTerminal) {
        stream.write(`${stage} …`)
        hasBar = true
      }
    },
    page(_table, looked, written) {
      done += looked
      copied += written
      show()
    },
    say,
    end: closeStage,
  }
}
