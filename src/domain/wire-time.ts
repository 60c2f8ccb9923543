// Times on the wire: ISO 8601 in UTC for output, ISO 8601 with an explicit zone for input.

// A date, or a time with its zone; without a zone the machine's own would be guessed.
const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

export function isoTime(at: number): string {
  return new Date(at).toISOString()
}

// For a time that is always a whole second, such as midnight.
export function isoSecond(at: number): string {
  return `${isoTime(at).slice(0, -'.000Z'.length)}Z`
}

export function isoTimeOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at)
}

// Milliseconds since 1970. A date is its first moment in UTC. Anything else, including 30 February, is undefined.
export function parseIsoTime(text: string): number | undefined {
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

function daysIn(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate()
}
