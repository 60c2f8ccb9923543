// The figures of a gateway with more and more tenants: a table with the ratios to the fewest tenants and to another checkout, and
// the limits.

import { fixed, isWithin, type Limit, limitTable, median, type Report, type Sample, table } from './table.ts'
import type { Tenanted } from './tenants.ts'

export type TenantResults = {
  readonly gateways: readonly Tenanted[]
  readonly samples: ReadonlyMap<string, readonly Sample[]>
  readonly connections: number
  readonly onPostgres: boolean
}

type Column = { readonly key: string; readonly title: string; readonly digits: number; of(sample: Sample): number }

const CPU: Column = { key: 'cpuUs', title: 'CPU per chat, µs', digits: 1, of: ({ json }) => json?.cpuUs ?? Number.NaN }
const WRITTEN: Column = {
  key: 'writtenKb',
  title: 'written per chat, kB',
  digits: 1,
  of: ({ json }) => json?.writtenKb ?? Number.NaN,
}

export const LIMITED_TENANTS = 10_000
const CPU_RATIO_MAX = 1.4
const WRITTEN_KB_MAX = 16

export function tenantReport(results: TenantResults): Report {
  const limits = limitsOf(results)
  const text = [figures(results), ...(limits.length === 0 ? [] : [limitTable(limits)])].join('\n\n')
  return { text, json: asJson(results, limits), limits }
}

// One window in one line.
export function sampleText(name: string, sample: Sample, onPostgres: boolean): string {
  const values = columnsOf(onPostgres).map(({ title, digits, of }) => `${title}: ${fixed(of(sample), digits)}`)
  return `  ${name}: ${values.join('; ')}`
}

function columnsOf(onPostgres: boolean): readonly Column[] {
  const store = onPostgres ? 'Postgres besides, µs' : "the store's thread, µs"
  return [
    CPU,
    { key: 'loopUs', title: 'the event loop, µs', digits: 1, of: ({ json }) => json?.loopUs ?? Number.NaN },
    { key: 'storeUs', title: store, digits: 1, of: ({ json }) => json?.storeUs ?? Number.NaN },
    WRITTEN,
    { key: 'perSecond', title: 'requests/s', digits: 0, of: ({ json }) => json?.requestsPerSecond ?? Number.NaN },
    { key: 'p50Ms', title: 'p50, ms', digits: 2, of: ({ json }) => (json?.p50Us ?? Number.NaN) / 1000 },
    { key: 'p99Ms', title: 'p99, ms', digits: 2, of: ({ json }) => (json?.p99Us ?? Number.NaN) / 1000 },
    { key: 'residentMb', title: 'resident, MB', digits: 0, of: ({ residentMb }) => residentMb },
  ]
}

function figures(results: TenantResults): string {
  const { gateways, connections, onPostgres } = results
  const hasBefore = gateways.some(({ isBefore }) => isBefore)
  const fewest = gateways.find(({ isBefore }) => !isBefore)?.name
  const withRatios = (column: Column) => column === CPU || column === WRITTEN
  const titles = columnsOf(onPostgres).flatMap(column => [
    column.title,
    ...(withRatios(column) ? [`× ${fewest}`, ...(hasBefore ? ['× before'] : [])] : []),
  ])
  const rows = gateways.map(gateway => [
    gateway.name,
    ...columnsOf(onPostgres).flatMap(column => {
      const ratios = [toFewest(results, gateway, column), ...(hasBefore ? [toBefore(results, gateway, column)] : [])]
      const value = fixed(middle(results, gateway, column), column.digits)
      return [value, ...(withRatios(column) ? ratios.map(ratio => fixed(ratio, 2)) : [])]
    }),
  ])
  const where = onPostgres ? 'Postgres' : 'the embedded store'
  return table([`JSON on ${where}, ${connections} connections`, ...titles], rows)
}

function asJson(results: TenantResults, limits: readonly Limit[]): object {
  const gateways = results.gateways.map(gateway => {
    const { name, tenants, isBefore } = gateway
    const values = columnsOf(results.onPostgres).map(column => {
      const windows = (results.samples.get(name) ?? []).map(column.of)
      const ratios = { ratio: toFewest(results, gateway, column), toBefore: toBefore(results, gateway, column) }
      return [column.key, { value: median(windows), ...ratios, windows }]
    })
    return { name, tenants, isBefore, ...Object.fromEntries(values) }
  })
  return { onPostgres: results.onPostgres, gateways, limits: limits.map(limit => ({ ...limit, ok: isWithin(limit) })) }
}

// What Postgres writes has no limit: it depends on how often it makes checkpoints.
function limitsOf(results: TenantResults): readonly Limit[] {
  const gateways = results.gateways.filter(({ isBefore }) => !isBefore)
  const limited = gateways.find(({ tenants }) => tenants === LIMITED_TENANTS)
  if (limited === undefined || gateways[0]?.tenants !== 1) return []
  const cpu = { what: `CPU per chat, ${limited.name}`, limit: CPU_RATIO_MAX, unit: '× 1 tenant' }
  const written = { what: `Written per chat, ${limited.name}`, limit: WRITTEN_KB_MAX, unit: 'kB' }
  return [
    { ...cpu, value: toFewest(results, limited, CPU) },
    ...(results.onPostgres ? [] : [{ ...written, value: middle(results, limited, WRITTEN) }]),
  ]
}

function middle({ samples }: TenantResults, { name }: Tenanted, { of }: Column): number {
  return median((samples.get(name) ?? []).map(of))
}

function toFewest(results: TenantResults, gateway: Tenanted, column: Column): number {
  const fewest = results.gateways.find(({ isBefore }) => isBefore === gateway.isBefore)
  return ratio(results, gateway, fewest, column)
}

function toBefore(results: TenantResults, gateway: Tenanted, column: Column): number {
  const before = results.gateways.find(({ tenants, isBefore }) => isBefore && tenants === gateway.tenants)
  return ratio(results, gateway, before, column)
}

// Round by round, as they were measured one after the other.
function ratio({ samples }: TenantResults, of: Tenanted, to: Tenanted | undefined, column: Column): number {
  const others = to === undefined ? [] : (samples.get(to.name) ?? [])
  const ratios = others.map((other, round) => {
    const sample = samples.get(of.name)?.[round]
    return sample === undefined ? Number.NaN : column.of(sample) / column.of(other)
  })
  return ratios.length === 0 ? Number.NaN : median(ratios)
}
