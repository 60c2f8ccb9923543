// Finds requests as they are settled, by bounded polls of the newest rows and of those that were still running.
import { Failed } from '../command.ts'
import type { Client, Json } from '../http-client.ts'

const PAGE_ROWS = 200
// Of one poll; if more requests came, the rest is left out.
const PAGES_MAX = 5
const PRINTED_MAX = 20_000
const RUNNING_MAX = 5000
const RUNNING_AT_ONCE = 20
// Rows of several nodes may come a little out of order.
const OVERLAP_MS = 10_000

type Polled = { readonly settled: readonly Json[]; readonly missed: boolean }

export function usagePoller(
  query: URLSearchParams,
  past: readonly Json[],
  client: Pick<Client, 'call'>,
): () => Promise<Polled> {
  const printed = new Set<string>()
  const running = new Set<string>()
  let newest = past.reduce((latest, row) => Math.max(latest, createdAt(row)), 0)
  for (const row of past) (isSettled(row) ? printed : running).add(String(row.request_id))

  async function readNew(): Promise<{ rows: readonly Json[]; missed: boolean }> {
    const rows: Json[] = []
    const page = withLimit(query, PAGE_ROWS)
    if (newest > 0) page.set('from', new Date(newest - OVERLAP_MS).toISOString())
    for (let pages = 1; ; pages++) {
      const { data, has_more: hasMore } = await client.call('GET', `/usage?${page}`)
      rows.push(...(data as readonly Json[]))
      const last = (data as readonly Json[]).at(-1)
      if (hasMore !== true || last === undefined) return { rows, missed: false }
      const isKnown = (data as readonly Json[]).every(({ request_id: id }) => printed.has(String(id)))
      if (isKnown || pages === PAGES_MAX) return { rows, missed: !isKnown && newest > 0 }
      page.set('after', String(last.request_id))
    }
  }

  // The longest running first, in turn.
  async function readRunning(fresh: ReadonlySet<string>): Promise<readonly Json[]> {
    const asked = [...running].filter(id => !fresh.has(id)).slice(0, RUNNING_AT_ONCE)
    const rows = await Promise.all(
      asked.map(id =>
        client.call('GET', `/usage/${id}`).catch((error: Error) => {
          if (error instanceof Failed && error.status === 404) running.delete(id)
          else throw error
          return undefined
        }),
      ),
    )
    for (const id of asked) if (running.delete(id)) running.add(id)
    return rows.filter(row => row !== undefined)
  }

  return async () => {
    const { rows, missed } = await readNew()
    const fresh = new Set(rows.map(row => String(row.request_id)))
    const all = [...rows, ...(await readRunning(fresh))]
    const settled: Json[] = []
    for (const row of all) {
      const id = String(row.request_id)
      newest = Math.max(newest, createdAt(row))
      if (printed.has(id)) continue
      if (!isSettled(row)) {
        if (running.size < RUNNING_MAX) running.add(id)
        continue
      }
      running.delete(id)
      printed.add(id)
      settled.push(row)
    }
    for (const id of printed) {
      if (printed.size <= PRINTED_MAX) break
      printed.delete(id)
    }
    return { settled: settled.sort((a, b) => finishedAt(a) - finishedAt(b)), missed }
  }
}

export function withLimit(query: URLSearchParams, limit: number): URLSearchParams {
  const page = new URLSearchParams(query)
  page.set('limit', String(limit))
  return page
}

export function isSettled({ state }: Json): boolean {
  return state !== 'open'
}

export function createdAt({ created_at: at }: Json): number {
  return Date.parse(String(at))
}

export function finishedAt(row: Json): number {
  return row.finished_at === null ? createdAt(row) : Date.parse(String(row.finished_at))
}
