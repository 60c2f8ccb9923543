// Reads all pages of a list that is known to be short.
import type { List } from '../../../src/admin/input.ts'
import { call, queryOf } from './call.ts'

const PAGE = 1000
const PAGES_MAX = 20

export async function readAll<T>(path: string, idOf: (item: T) => string, signal?: AbortSignal): Promise<readonly T[]> {
  const all: T[] = []
  let after = ''
  for (let page = 0; page < PAGES_MAX; page++) {
    const list = await call<List<T>>(
      'GET',
      `${path}${queryOf({ limit: PAGE, after })}`,
      signal === undefined ? {} : { signal },
    )
    all.push(...list.data)
    const last = list.data.at(-1)
    if (!list.has_more || last === undefined) break
    after = idOf(last)
  }
  return all
}
