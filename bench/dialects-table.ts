// The figures of the dialects: what a request costs in each, and its ratio to a chat, round by round.

import type { Form } from './answer-reader.ts'
import { CHAT, type DialectContestant } from './dialects.ts'
import { fixed, isWithin, type Limit, limitTable, median, type Report, type Sample, table } from './table.ts'

export type DialectResults = {
  readonly contestants: readonly DialectContestant[]
  readonly samples: ReadonlyMap<string, readonly Sample[]>
  readonly forms: readonly Form[]
  readonly connections: number
}

const TITLES: Readonly<Record<Form, string>> = { json: 'JSON', stream: 'Streams' }

export function dialectReport(results: DialectResults): Report {
  const { contestants, forms } = results
  const limits = forms.flatMap(form => contestants.flatMap(contestant => limitOf(results, contestant, form)))
  const text = [...forms.map(form => figures(results, form)), limitTable(limits)].join('\n\n')
  const rows = contestants.flatMap(({ name }) => forms.map(form => ({ name, form, ...valuesOf(results, name, form) })))
  return { text, json: { rows, limits: limits.map(limit => ({ ...limit, ok: isWithin(limit) })) }, limits }
}

function figures(results: DialectResults, form: Form): string {
  const rows = results.contestants.map(({ name }) => {
    const { cpuUs, ratio, p50Ms, p99Ms } = valuesOf(results, name, form)
    return [name, fixed(cpuUs, 1), fixed(ratio, 2), fixed(p50Ms, 2), fixed(p99Ms, 2)]
  })
  const title = `${TITLES[form]}, ${results.connections} connections`
  return table([title, 'CPU per request, µs', '× chat', 'p50, ms', 'p99, ms'], rows)
}

function valuesOf({ samples }: DialectResults, name: string, form: Form) {
  const own = samples.get(name) ?? []
  const chats = samples.get(CHAT) ?? []
  const cpu = (sample: Sample | undefined) => sample?.[form]?.cpuUs ?? Number.NaN
  return {
    cpuUs: median(own.map(cpu)),
    // Neighbouring windows.
    ratio: median(own.map((sample, round) => cpu(sample) / cpu(chats[round]))),
    p50Ms: median(own.map(sample => (sample[form]?.p50Us ?? Number.NaN) / 1000)),
    p99Ms: median(own.map(sample => (sample[form]?.p99Us ?? Number.NaN) / 1000)),
  }
}

function limitOf(results: DialectResults, { name, ratioMax }: DialectContestant, form: Form): readonly Limit[] {
  if (ratioMax === undefined) return []
  const what = `CPU per request, ${name}, ${TITLES[form]}`
  return [{ what, limit: ratioMax, unit: '× chat', value: valuesOf(results, name, form).ratio }]
}
