// Converts measurements to figures with ratios, limits with a verdict, and Markdown for the documentation.

import type { Form } from './answer-reader.ts'
import { ONE_NODE, ONE_SLOW, TWO_SLOW } from './scale.ts'
import { BEFORE, ON_DISK } from './turnpike.ts'

export type Measure = {
  readonly cpuUs: number
  readonly requestsPerSecond: number
  readonly p50Us: number
  readonly p99Us: number
  // The utilisation of its cores, where they are bounded; else NaN.
  readonly busy: number
  // Of its CPU, the main thread's; and the store's, which may be another process.
  readonly loopUs: number
  readonly storeUs: number
  readonly writtenKb: number
}

// One contestant in one round.
export type Sample = Readonly<Partial<Record<Form, Measure>>> & {
  readonly residentMb: number
  readonly addedP50Us: number
}

export type Startup = { readonly firstMs: number; readonly secondMs: number }

export type Results = {
  // The contestant that the others are compared with.
  readonly floor: string
  readonly forms: readonly Form[]
  readonly connections: number
  readonly samples: ReadonlyMap<string, readonly Sample[]>
  readonly startup: Startup | undefined
}

export type Limit = {
  readonly what: string
  readonly value: number
  readonly limit: number
  readonly unit: string
  // Otherwise the limit is a maximum.
  readonly isLeast?: boolean
}

// What is printed, in either way, and what `--gate` looks at.
export type Report = { readonly text: string; readonly json: object; readonly limits: readonly Limit[] }

export function reportOf(results: Results): Report {
  return { text: markdown(results), json: asJson(results), limits: limitsOf(results) }
}

const TITLES = { json: 'JSON', stream: '50-chunk streams' } as const
const COLUMNS: readonly { key: keyof Measure; title: string; scale: number; digits: number }[] = [
  { key: 'cpuUs', title: 'CPU per request, µs', scale: 1, digits: 1 },
  { key: 'requestsPerSecond', title: 'requests/s', scale: 1, digits: 0 },
  { key: 'p50Us', title: 'p50, ms', scale: 1e-3, digits: 2 },
  { key: 'p99Us', title: 'p99, ms', scale: 1e-3, digits: 2 },
]

// What the product keeps on two cores of a shared virtual machine. The median latency that is added at one connection is printed for
// data on disk and in memory, but has no limit: most of it is the wait for the disk, which differs between machines.
function limitsOf(results: Results): readonly Limit[] {
  if (results.samples.has(ONE_NODE)) return storeLimitsOf(results)
  if (results.samples.has(TWO_SLOW)) return workerLimitsOf(results)
  if (results.floor === BEFORE) return changeLimitsOf(results)
  const { floor, samples } = results
  const limits: Limit[] = []
  const ratio = (of: (sample: Sample) => number | undefined) =>
    middle(results, ON_DISK, of) / middle(results, floor, of)
  if (samples.has(floor) && samples.has(ON_DISK)) {
    const cpuLimits = { json: 7, stream: 2 }
    for (const form of results.forms) {
      const value = ratio(sample => sample[form]?.cpuUs)
      limits.push({ what: `CPU per request, ${TITLES[form]}`, value, limit: cpuLimits[form], unit: '× nginx' })
    }
  }
  if (samples.has(ON_DISK)) {
    const value = middle(results, ON_DISK, sample => sample.residentMb)
    limits.push({ what: 'resident memory after the run', value, limit: 190, unit: 'MB' })
  }
  if (results.startup !== undefined) {
    const seconds = results.startup.secondMs / 1000
    limits.push({ what: '`npm start` to the first answered chat', value: seconds, limit: 1, unit: 's' })
  }
  return limits
}

// Round by round, as the two were measured one after the other.
function changeLimitsOf({ forms, samples }: Results): readonly Limit[] {
  const before = samples.get(BEFORE) ?? []
  const ratios = (form: Form) =>
    (samples.get(ON_DISK) ?? []).map((now, round) => (now[form]?.cpuUs ?? 0) / (before[round]?.[form]?.cpuUs ?? 0))
  return forms.map(form => ({
    what: `CPU per request, ${TITLES[form]}`,
    value: median(ratios(form)),
    limit: 1.05,
    unit: '× before',
  }))
}

function storeLimitsOf(results: Results): readonly Limit[] {
  const cpu = (name: string, form: Form) => middle(results, name, sample => sample[form]?.cpuUs)
  return results.forms.map(form => ({
    what: `CPU per request with Postgres and Redis, ${TITLES[form]}`,
    value: cpu(ONE_NODE, form) / cpu(results.floor, form),
    limit: 1.5,
    unit: '× embedded',
  }))
}

function workerLimitsOf(results: Results): readonly Limit[] {
  const perSecond = (name: string, form: Form) =>
    results.samples.get(name)?.map(sample => sample[form]?.requestsPerSecond ?? Number.NaN) ?? []
  // Round by round: on a shared machine only neighbouring windows are comparable.
  const ratios = (form: Form) => {
    const ones = perSecond(ONE_SLOW, form)
    return perSecond(TWO_SLOW, form).map((two, round) => two / (ones[round] ?? Number.NaN))
  }
  return results.forms.flatMap(form => [
    {
      what: `Requests a second of two workers on two cores, ${TITLES[form]}`,
      value: median(ratios(form)),
      limit: 1.6,
      unit: '× one',
      isLeast: true,
    },
    // Otherwise something else limited the single node, and two would look too good.
    {
      what: `Time of its core that one used, ${TITLES[form]}`,
      value: percentBusy(results, ONE_SLOW, form),
      limit: 90,
      unit: '%',
      isLeast: true,
    },
  ])
}

// A figure that is not available (NaN) is not within any limit.
export function isWithin(limit: Limit): boolean {
  return limit.isLeast ? limit.value >= limit.limit : limit.value <= limit.limit
}

export function measuredText({ value, unit }: Limit): string {
  return `${fixed(value, 2)} ${unit}`
}

export function boundText({ limit, unit, isLeast }: Limit): string {
  return `${isLeast ? 'at least' : 'at most'} ${limit} ${unit}`
}

function markdown(results: Results): string {
  const tables = results.forms.map(form => loadTable(results, form))
  tables.push(restTable(results))
  if (results.startup !== undefined) tables.push(startupLine(results.startup))
  const limits = limitsOf(results)
  if (limits.length > 0) tables.push(limitTable(limits))
  return tables.join('\n\n')
}

function asJson(results: Results): object {
  const contestants = [...results.samples.keys()].map(name => {
    const loads = results.forms.map(form => {
      const figures = COLUMNS.map(({ key }) => {
        const of = (sample: Sample) => sample[form]?.[key]
        const value = middle(results, name, of)
        return [key, { value, ratio: value / middle(results, results.floor, of) }]
      })
      return [form, { ...Object.fromEntries(figures), busy: middle(results, name, sample => sample[form]?.busy) }]
    })
    const residentMb = middle(results, name, sample => sample.residentMb)
    const addedP50Us = middle(results, name, sample => sample.addedP50Us)
    return [name, { ...Object.fromEntries(loads), residentMb, addedP50Us }]
  })
  const limits = limitsOf(results).map(limit => ({ ...limit, ok: isWithin(limit) }))
  return { contestants: Object.fromEntries(contestants), startup: results.startup, limits }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const half = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2
}

function middle(results: Results, name: string, of: (sample: Sample) => number | undefined): number {
  return median((results.samples.get(name) ?? []).map(sample => of(sample) ?? Number.NaN))
}

function loadTable(results: Results, form: Form): string {
  const each = results.samples.has(TWO_SLOW) ? ' a process' : ''
  const title = `${TITLES[form]}, ${results.connections} connections${each}`
  const rows = [...results.samples.keys()].map(name => [
    name,
    ...COLUMNS.flatMap(({ key, scale, digits }) => {
      const of = (sample: Sample) => sample[form]?.[key]
      return withRatio(middle(results, name, of) * scale, middle(results, results.floor, of) * scale, digits)
    }),
  ])
  return table([title, ...COLUMNS.flatMap(column => [column.title, `× ${results.floor}`])], rows)
}

function restTable(results: Results): string {
  const columns = results.samples.has(TWO_SLOW) ? busyColumns(results) : aloneColumns(results)
  const rows = [...results.samples.keys()].map(name => {
    const resident = middle(results, name, sample => sample.residentMb)
    return [name, ...columns.of(name), fixed(resident, 0)]
  })
  return table([...columns.titles, 'resident after the run, MB'], rows)
}

type Columns = { readonly titles: readonly string[]; of(name: string): readonly string[] }

function aloneColumns(results: Results): Columns {
  const added = (name: string) => middle(results, name, sample => sample.addedP50Us)
  return {
    titles: ['One connection, JSON', 'p50 added, µs', `× ${results.floor}`],
    of: name => withRatio(added(name), added(results.floor), 0),
  }
}

function busyColumns(results: Results): Columns {
  return {
    titles: ['Time used of its cores', ...results.forms.map(form => `${TITLES[form]}, %`)],
    of: name => results.forms.map(form => fixed(percentBusy(results, name, form), 0)),
  }
}

function percentBusy(results: Results, name: string, form: Form): number {
  return 100 * middle(results, name, sample => sample[form]?.busy)
}

function startupLine({ firstMs, secondMs }: Startup): string {
  return `From \`npm start\` to the first answered chat: ${fixed(secondMs, 0)} ms (very first start: ${fixed(firstMs, 0)} ms).`
}

export function limitTable(limits: readonly Limit[]): string {
  const rows = limits.map(limit => [
    limit.what,
    measuredText(limit),
    boundText(limit),
    isWithin(limit) ? 'yes' : '**no**',
  ])
  return table(['Limit', 'measured', 'allowed', 'kept'], rows)
}

function withRatio(value: number, floor: number, digits: number): readonly string[] {
  return [fixed(value, digits), fixed(value / floor, 2)]
}

export function fixed(value: number, digits: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(digits)
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const ruler = head.map((_, i) => (i === 0 ? '---' : '---:'))
  return [head, ruler, ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}
