// The offsets of a time zone from UTC over a span, so that sums by the hour can be added up to that zone's days.
import { HOUR_MS } from './usage.ts'

// In order of time; the first one holds before it too.
export type ZoneOffsets = readonly { readonly from: number; readonly offsetMs: number }[]

const DAY_MS = 24 * HOUR_MS

// Undefined where days do not begin with a full hour of UTC. Throws a RangeError for a zone that does not exist.
export function zoneOffsets(zone: string, from: number, to: number): ZoneOffsets | undefined {
  const offsetAt = offsetReader(zone)
  const offsets = [{ from, offsetMs: offsetAt(from) }]
  for (let at = from; at < to; ) {
    const next = Math.min(at + DAY_MS, to)
    const known = offsets.at(-1)?.offsetMs ?? 0
    const offsetMs = offsetAt(next)
    if (offsetMs !== known) offsets.push({ from: changeBetween(at, next, known, offsetAt), offsetMs })
    at = next
  }
  const isWhole = offsets.every(each => each.offsetMs % HOUR_MS === 0)
  return isWhole ? offsets : undefined
}

// The first hour with another offset: clocks change at full hours of UTC in all zones whose offsets are full hours.
function changeBetween(from: number, to: number, known: number, offsetAt: (at: number) => number): number {
  let hour = Math.floor(from / HOUR_MS) + 1
  while (hour * HOUR_MS < to && offsetAt(hour * HOUR_MS) === known) hour += 1
  return hour * HOUR_MS
}

function offsetReader(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  return at => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
    const wall = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'))
    return wall - Math.floor(at / 60_000) * 60_000
  }
}

// The number of the day of a time, and when a day begins.
export function zoneDay(at: number, offsets: ZoneOffsets): number {
  return Math.floor((at + offsetOf(at, offsets)) / DAY_MS)
}

export function zoneDayStart(day: number, offsets: ZoneOffsets): number {
  const wall = day * DAY_MS
  // The offset before a change that day, if it was before midnight.
  const times = offsets.map(({ offsetMs }) => wall - offsetMs).filter(at => at + offsetOf(at, offsets) === wall)
  if (times.length > 0) return Math.min(...times)
  // The change skips midnight: the day begins with it.
  return offsets.find(({ from }) => zoneDay(from, offsets) === day)?.from ?? wall - offsetOf(wall, offsets)
}

function offsetOf(at: number, offsets: ZoneOffsets): number {
  let offsetMs = offsets[0]?.offsetMs ?? 0
  for (const each of offsets) if (each.from <= at) offsetMs = each.offsetMs
  return offsetMs
}
