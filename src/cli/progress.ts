// A progress line on stderr; prints nothing unless stderr is a terminal.
import { systemClock } from '../lib/clock.ts'

export type Progress = {
  // Without a total, only the count is shown.
  show(done: number, total: number | undefined): void
  // Clears the line.
  end(): void
}

export const REDRAW_MS = 100
const BAR_CHARS = 24
export const CLEAR = '\r\u001b[2K'

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
export function barOf(done: number, total: number): string {
  const part = total === 0 ? 0 : Math.min(done / total, 1)
  return '█'.repeat(Math.round(part * BAR_CHARS)).padEnd(BAR_CHARS, '░')
}
