// The log: one JSON object a line, or one readable line on a terminal. It is told facts, never secrets, prompts or
// answers; what looks like a credential is blotted out all the same.
import { styleText } from 'node:util'
import pino from 'pino'

export type Log = {
  info(facts: object, words: string): void
  warn(facts: object, words: string): void
  error(facts: object, words: string): void
  debug(facts: object, words: string): void
  flush(): void
}

export function openLog(level: string, out: NodeJS.WriteStream & { fd?: number }): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    redact: {
      paths: ['authorization', '*.authorization', 'secret', '*.secret', 'token', '*.token', 'apiKey', '*.apiKey'],
      censor: '…',
    },
  }
  if (out.isTTY) {
    const logger = pino(options, { write: (line: string) => void out.write(readable(line)) })
    return { ...bound(logger), flush: () => undefined }
  }
  // Small buffer, flushed within a moment: a line per request must not mean a system call per request.
  const destination = pino.destination({ fd: out.fd ?? 1, sync: false, minLength: 4096 })
  const flusher = setInterval(() => destination.flush(), 200)
  flusher.unref()
  const logger = pino(options, destination)
  return {
    ...bound(logger),
    flush() {
      try {
        destination.flushSync()
      } catch {
        // Nothing is open any more to be flushed.
      }
    },
  }
}

function bound(logger: pino.Logger) {
  return {
    info: (facts: object, words: string) => logger.info(facts, words),
    warn: (facts: object, words: string) => logger.warn(facts, words),
    error: (facts: object, words: string) => logger.error(facts, words),
    debug: (facts: object, words: string) => logger.debug(facts, words),
  }
}

const COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red', fatal: 'red' } as const

function readable(line: string): string {
  const { level, time, msg, ...facts } = JSON.parse(line) as { level: keyof typeof COLOURS; time: string; msg: string }
  const pairs = Object.entries(facts)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(
      ([name, value]) =>
        `${styleText('dim', name + '=')}${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
    )
  return `${styleText('dim', time.slice(11, 23))} ${styleText(COLOURS[level] ?? 'white', level.padEnd(5))} ${msg} ${pairs.join(' ')}\n`
}
