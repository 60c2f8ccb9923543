// The log: one JSON object a line, or one readable line on a terminal. It is told facts, never secrets, prompts or
// answers. A line per request must cost little, so lines are gathered and written off the event loop; a reader that
// stands still loses lines rather than holding up the gateway.
import { styleText } from 'node:util'
import sonicBoom from 'sonic-boom'
import type { Clock } from './clock.ts'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
type Level = (typeof LEVELS)[number]

export type Log = {
  info(facts: object, words: string): void
  warn(facts: object, words: string): void
  error(facts: object, words: string): void
  flush(): void
}

const GATHERED_BYTES = 8 * 1024
const WAITING_BYTES_MAX = 16 * 1024 * 1024
const FLUSH_MS = 200

export function openLog(level: Level, out: NodeJS.WriteStream & { readonly fd?: number }, clock: Clock): Log {
  const least = LEVELS.indexOf(level)
  const sink = out.isTTY ? terminal(out) : file(out.fd ?? 1)

  function write(at: Level, facts: object, words: string): void {
    if (LEVELS.indexOf(at) < least) return
    sink.write({ level: at, time: new Date(clock.now()).toISOString(), ...facts, msg: words })
  }

  return {
    info: (facts, words) => write('info', facts, words),
    warn: (facts, words) => write('warn', facts, words),
    error: (facts, words) => write('error', facts, words),
    flush: sink.flush,
  }
}

type Line = { readonly level: Level; readonly time: string; readonly msg: string }
type LineSink = { write(line: Line): void; flush(): void }

function file(fd: number): LineSink {
  const boom = new sonicBoom.SonicBoom({ fd, sync: false, minLength: GATHERED_BYTES, maxLength: WAITING_BYTES_MAX })
  // A log that cannot be written is no reason to stop serving.
  boom.on('error', () => undefined)
  setInterval(() => boom.flush(), FLUSH_MS).unref()
  return {
    write: line => void boom.write(`${JSON.stringify(line)}\n`),
    flush() {
      try {
        boom.flushSync()
      } catch {
        // Nothing is open any more to be flushed.
      }
    },
  }
}

const COLOURS = { info: 'green', warn: 'yellow', error: 'red' } as const

function terminal(out: NodeJS.WriteStream): LineSink {
  return {
    write({ level, time, msg, ...facts }) {
      const pairs = Object.entries(facts)
        .filter(([, value]) => value !== null && value !== undefined)
        .map(
          ([name, value]) => styleText('dim', `${name}=`) + (typeof value === 'object' ? JSON.stringify(value) : value),
        )
      const colour = COLOURS[level as keyof typeof COLOURS] ?? 'white'
      out.write(
        `${styleText('dim', time.slice(11, 23))} ${styleText(colour, level.padEnd(5))} ${msg} ${pairs.join(' ')}\n`,
      )
    },
    flush: () => undefined,
  }
}
