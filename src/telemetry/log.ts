// The log: one JSON object per line, or one readable line on a terminal. It never contains secrets, prompts or answers. A stalled
// reader loses lines instead of blocking the gateway.
import { styleText } from 'node:util'
import type { Clock } from '../lib/clock.ts'
import { type LineWriter, lineWriter } from './line-writer.ts'

export const LOG_LEVELS = ['info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
// An object, or its JSON without the braces where that exists already.
export type Facts = object | string

export type Log = {
  info(facts: Facts, words: string): void
  warn(facts: Facts, words: string): void
  error(facts: Facts, words: string): void
  flush(): void
  end(): Promise<void>
}

export function openLog(level: LogLevel, out: NodeJS.WriteStream & { readonly fd?: number }, clock: Clock): Log {
  // Not through the stream of a terminal: its writes block, and fail forever once the terminal has closed.
  const lines = lineWriter(out.fd ?? 1)
  return logTo(out.isTTY ? readable(lines) : lines, level, clock)
}

// Writes one line at a time.
type Sink = Omit<LineWriter, 'write'> & { write(line: string): void }

export function logTo(sink: Sink, level: LogLevel, clock: Clock): Log {
  const least = LOG_LEVELS.indexOf(level)
  let stamp = { at: Number.NaN, text: '' }

  function write(at: LogLevel, facts: Facts, words: string): void {
    if (LOG_LEVELS.indexOf(at) < least) return
    const now = clock.now()
    if (now !== stamp.at) stamp = { at: now, text: new Date(now).toISOString() }
    const inner = typeof facts === 'string' ? facts : JSON.stringify(facts).slice(1, -1)
    sink.write(
      `{"level":"${at}","time":"${stamp.text}",${inner}${inner === '' ? '' : ','}"msg":${JSON.stringify(words)}}\n`,
    )
  }

  return {
    info: (facts, words) => write('info', facts, words),
    warn: (facts, words) => write('warn', facts, words),
    error: (facts, words) => write('error', facts, words),
    flush: sink.flush,
    end: sink.end,
  }
}

const COLOURS = { info: 'green', warn: 'yellow', error: 'red' } as const

function readable({ write, flush, end }: LineWriter): Sink {
  return {
    write(line) {
      const { level, time, msg, ...facts } = JSON.parse(line) as Record<string, string>
      const pairs = Object.entries(facts).map(
        ([name, value]) => styleText('dim', `${name}=`) + (typeof value === 'object' ? JSON.stringify(value) : value),
      )
      const colour = COLOURS[level as keyof typeof COLOURS] ?? 'white'
      const head = `${styleText('dim', String(time).slice(11, 23))} ${styleText(colour, String(level).padEnd(5))}`
      write(`${head} ${msg} ${pairs.join(' ')}\n`)
    },
    flush,
    end,
  }
}
