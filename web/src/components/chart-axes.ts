// The axes of charts: round values by d3-scale, and labels at round times of a time zone.
import { scaleLinear } from 'd3-scale'
import { formatTime, wallTime } from '../format/time.ts'

const VALUES = 4

export type ValueAxis = { readonly domain: readonly [0, number]; readonly ticks: readonly number[] }

// From zero to a round value that is not below any point. `least` is the smallest end of the axis, so that a few errors in many
// requests do not fill the chart, and an empty chart has an axis too.
export function valueAxis(max: number, { isWhole = false, least = 0 }: ValueAxisOptions = {}): ValueAxis {
  const top = Math.max(Number.isFinite(max) ? max : 0, least, 0) || 1
  // A count has no values between whole numbers.
  const values = isWhole ? Math.max(1, Math.min(VALUES, Math.ceil(top))) : VALUES
  const scale = scaleLinear().domain([0, top]).nice(values)
  return { domain: [0, scale.domain()[1] ?? top], ticks: scale.ticks(values) }
}

export type ValueAxisOptions = { readonly isWhole?: boolean; readonly least?: number }

export type Step = 'minute' | 'hour' | 'day'

// The points of a time axis that get a label: evenly spaced, at round times of the zone.
export function timeTicks(points: readonly { readonly at: string }[], step: Step, zone: string, max = 6): string[] {
  const times = points.map(({ at }) => ({ at, ...wallTime(Date.parse(at), zone) }))
  for (const isTick of stepsOf(step)) {
    const ticks = times.filter((time, index) => isTick(time, times[index - 1], index))
    if (ticks.length <= max) return ticks.map(({ at }) => at)
  }
  return []
}

type Time = ReturnType<typeof wallTime>
type IsTick = (time: Time, before: Time | undefined, index: number) => boolean

// From the finest to the coarsest.
function stepsOf(step: Step): readonly IsTick[] {
  const minutes = [1, 2, 5, 10, 15, 30].map<IsTick>(every => time => time.minute % every === 0)
  const hours = [1, 2, 3, 6, 12].map<IsTick>(
    every => (time, before) => time.hour % every === 0 && isNewHour(time, before),
  )
  // The first hour of a day, which is not always midnight.
  const days = [1, 2, 7, 14].map<IsTick>(
    every => (time, before) => isNewDay(time, before) && dayNumber(time) % every === 0,
  )
  const points = [1, 2, 3, 5, 7, 14].map<IsTick>(every => (_time, _before, index) => index % every === 0)
  const months = [1, 2, 3, 6, 12].map<IsTick>(every => time => time.day === 1 && (time.month - 1) % every === 0)
  if (step === 'day') return [...points, ...months]
  return [...(step === 'minute' ? minutes : []), ...hours, ...days]
}

function isNewHour(time: Time, before: Time | undefined): boolean {
  return before === undefined ? time.minute === 0 : before.hour !== time.hour
}

function isNewDay(time: Time, before: Time | undefined): boolean {
  return before === undefined ? time.hour === 0 : before.day !== time.day
}

function dayNumber({ year, month, day }: Time): number {
  return Date.UTC(year, month - 1, day) / 86_400_000
}

// The label of a tick: the day at midnight, otherwise the time.
export function tickLabel(at: string, step: Step, zone: string): string {
  const { hour, minute } = wallTime(Date.parse(at), zone)
  const isDay = step === 'day' || (hour === 0 && (step === 'hour' || minute === 0))
  return formatTime(at, isDay ? 'day' : 'clock', zone)
}

// A point in full, for tooltips and tables.
export function pointLabel(at: string, step: Step, zone: string): string {
  return formatTime(at, step === 'day' ? 'weekday' : 'minute', zone)
}
