// Formats counts, ratios and durations.

const GROUPED = new Intl.NumberFormat('en-US')
const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 })

export function count(value: number): string {
  return GROUPED.format(value)
}

export function shortCount(value: number): string {
  return SHORT.format(value)
}

export function share(part: number, whole: number): string {
  return whole === 0 ? '–' : percent(part / whole)
}

export function percent(value: number): string {
  const digits = value === 0 || value === 1 ? 0 : value > 0.1 ? 1 : 2
  return `${(value * 100).toFixed(digits)} %`
}

// Against a value before: +12 %, −3.4 %, or nothing where there was none.
export function change(now: number, before: number): string {
  if (before === 0) return now === 0 ? '±0 %' : ''
  const part = (now - before) / Math.abs(before)
  if (Math.abs(part) < 0.0005) return '±0 %'
  if (part >= 10) return `×${GROUPED.format(Math.round(now / before))}`
  return `${part > 0 ? '+' : '−'}${(Math.abs(part) * 100).toFixed(Math.abs(part) < 0.1 ? 1 : 0)} %`
}

// For axis labels.
export function axisPercent(value: number): string {
  return `${Number((value * 100).toPrecision(2))} %`
}

export function duration(ms: number | null): string {
  if (ms === null) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}

// For axis labels, whose values are round.
export function axisDuration(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Number((ms / 1000).toPrecision(3))} s`
}

// Formats 59:07. The clock ticks in whole seconds, so the time left is never less than shown.
export function countdown(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${two(minutes)}:${two(rest)}`
}

export function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ago`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ago`
  return `${Math.floor(hours / 24)} days ago`
}
