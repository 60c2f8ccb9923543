// All formatting of times. The clock has 24 hours everywhere, and the time zone is a parameter: an IANA name or UTC.

const DATE = { year: 'numeric', month: 'short', day: 'numeric' } as const
const DAY = { month: 'short', day: 'numeric' } as const
const CLOCK = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
const SECONDS = { ...CLOCK, second: '2-digit' } as const

const STYLES = {
  // Nov 17, 2026, 14:05:09
  full: { ...DATE, ...SECONDS },
  // Nov 17, 14:05:09, for long lists.
  short: { ...DAY, ...SECONDS },
  // Nov 17, 14:05
  minute: { ...DAY, ...CLOCK },
  // 14:05
  clock: CLOCK,
  // Nov 17, 2026
  date: DATE,
  // Nov 17
  day: DAY,
  // Tue, Nov 17, 2026
  weekday: { ...DATE, weekday: 'short' },
  // Nov 2026
  month: { year: 'numeric', month: 'short' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>
export type TimeStyle = keyof typeof STYLES

export const UTC = 'UTC'

export function formatTime(at: string | number, style: TimeStyle, zone: string): string {
  return formatOf(style, zone).format(new Date(at))
}

const formats = new Map<string, Intl.DateTimeFormat>()

// Making one takes longer than a thousand uses.
function formatOf(style: TimeStyle, timeZone: string): Intl.DateTimeFormat {
  const name = `${style} ${timeZone}`
  const format = formats.get(name) ?? new Intl.DateTimeFormat('en-US', { ...STYLES[style], timeZone })
  formats.set(name, format)
  return format
}

// The times in a sentence of the server, such as "resets at 2026-11-18T00:00:00Z", in the zone of the page.
export function withTimesIn(zone: string, text: string): string {
  return text.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z/g, iso => {
    const at = Date.parse(iso)
    return Number.isNaN(at) ? iso : `${formatTime(at, 'minute', zone)} (${offsetName(at, zone)})`
  })
}

// The offset at a time, since it changes with daylight saving: UTC, UTC−5, UTC+5:30.
export function offsetName(at: number, zone: string): string {
  const minutes = offsetMs(at, zone) / MINUTE_MS
  if (minutes === 0) return 'UTC'
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60]
  return `UTC${minutes < 0 ? '−' : '+'}${hours}${rest === 0 ? '' : `:${String(rest).padStart(2, '0')}`}`
}

export type WallTime = {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
}

const wallFormats = new Map<string, Intl.DateTimeFormat>()

// What a clock on the wall shows there.
export function wallTime(at: number, zone: string): WallTime {
  const format =
    wallFormats.get(zone) ??
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      hourCycle: 'h23',
    })
  wallFormats.set(zone, format)
  const parts = new Map(format.formatToParts(new Date(at)).map(({ type, value }) => [type, Number(value)]))
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  return { year: of('year'), month: of('month'), day: of('day'), hour: of('hour'), minute: of('minute') }
}

const MINUTE_MS = 60_000

function offsetMs(at: number, zone: string): number {
  const { year, month, day, hour, minute } = wallTime(at, zone)
  return Date.UTC(year, month - 1, day, hour, minute) - Math.floor(at / MINUTE_MS) * MINUTE_MS
}

// The first time at which that clock shows this or, where daylight saving skips it, the first one after it.
function atWallTime(wall: Pick<WallTime, 'year' | 'month' | 'day'> & Partial<WallTime>, zone: string): number {
  const asUtc = Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour ?? 0, wall.minute ?? 0)
  // The offset is the one of a day before or after, whichever gives this wall time.
  const times = [asUtc - offsetMs(asUtc - DAY_MS, zone), asUtc - offsetMs(asUtc + DAY_MS, zone)]
  const exact = times.filter(at => at + offsetMs(at, zone) === asUtc)
  return exact.length > 0 ? Math.min(...exact) : Math.max(...times)
}

const DAY_MS = 86_400_000

// Midnight of the day of a time, or of another day counted from it. Days have 23, 24 or 25 hours.
export function startOfDay(at: number, zone: string, days = 0): number {
  const { year, month, day } = wallTime(at, zone)
  return atWallTime({ year, month, day: day + days }, zone)
}

export function startOfMonth(at: number, zone: string, months = 0): number {
  const { year, month } = wallTime(at, zone)
  return atWallTime({ year, month: month + months, day: 1 }, zone)
}

// For inputs of the type datetime-local: 2026-11-17T14:05.
export function toInput(at: string, zone: string): string {
  const time = Date.parse(at)
  return Number.isNaN(time) ? '' : new Date(time + offsetMs(time, zone)).toISOString().slice(0, 16)
}

// Empty if it is no time.
export function fromInput(text: string, zone: string): string {
  const match = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d))?/.exec(text)
  if (match === null) return ''
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = match.slice(1).map(part => Number(part ?? 0))
  return new Date(atWallTime({ year, month, day, hour, minute }, zone)).toISOString()
}
