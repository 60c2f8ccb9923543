// What an upstream's error means to us, by its status and words. Its own message reaches the caller only where the
// caller is at fault, cleaned of addresses, keys and markup.
import { Failure } from '../domain/failure.ts'

export function failureOfStatus(status: number, body: Buffer, retryAfter: string | undefined): Failure {
  const words = errorWords(body)
  const note = `status ${status}${words === undefined ? '' : ': ' + words}`
  if (status === 400 || status === 413 || status === 422)
    return new Failure('rejected', note, { status, ...(words ? { words } : {}) })
  if (status === 429 || status === 503 || status === 529) {
    const wait = retryAfterSeconds(retryAfter)
    return new Failure('limited', note, { status, ...(wait === undefined ? {} : { retryAfter: wait }) })
  }
  if (status === 401 || status === 403) return new Failure('credential', note, { status })
  if (status === 408 || status === 504) return new Failure('timeout', note, { status })
  return new Failure('status', note, { status })
}

// An error inside a 200 answer: its code is often the status that should have been.
export function failureOfError(error: unknown): Failure {
  const { code, status, message } =
    typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : { message: error }
  const number = [status, code].map(Number).find(value => Number.isInteger(value) && value >= 400 && value < 600)
  const words = typeof message === 'string' ? clean(message) : 'an error inside a 200 answer'
  if (number === undefined) return new Failure('status', words, { status: 200 })
  return failureOfStatus(number, Buffer.from(JSON.stringify({ error: { message: words } })), undefined)
}

function errorWords(body: Buffer): string | undefined {
  try {
    const parsed = JSON.parse(body.toString()) as {
      error?: { message?: unknown } | string
      message?: unknown
      detail?: unknown
    }
    const error = typeof parsed.error === 'object' && parsed.error !== null ? parsed.error.message : parsed.error
    const words = [error, parsed.message, parsed.detail].find(value => typeof value === 'string' && value !== '')
    return typeof words === 'string' ? clean(words) : undefined
  } catch {
    return undefined
  }
}

function clean(words: string): string {
  return words
    .toWellFormed()
    .replace(/[\u0000-\u001f\u007f]+/g, ' ')
    .replace(/<[^>]{0,200}>/g, ' ')
    .replace(/\b[a-z][a-z0-9+.-]{1,20}:\/\/\S+/gi, '[address]')
    .replace(/\b(?:sk|pk|key|svc|gsk|xai|AIza)[-_][\w*-]{6,}\S*/gi, '[key]')
    .replace(/\b(?:Bearer|Basic)\s+\S+/gi, '[key]')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, 400)
}

function retryAfterSeconds(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds, 300) : undefined
}
