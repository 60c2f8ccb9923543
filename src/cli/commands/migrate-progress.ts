// Progress of a migration: a progress bar on a terminal, occasional lines in a pipe, nothing with --json.
import { systemClock } from '../../lib/clock.ts'
import type { Tell } from '../../store/transfer/transfer.ts'
import { barOf, CLEAR, REDRAW_MS } from '../progress.ts'

export type TransferProgress = Tell & { say(line: string): void; end(): void }

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
