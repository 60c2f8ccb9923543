// A cache of open rows by request id: a fixed number of slots, each for one row. The slot follows from the last digits of the id,
// which are random; on a collision the later row has it, and the other is read from the database. Not a Map: every id would
// become an internalised string and stay until a full collection, and so would everything still in the tables that a Map has
// outgrown.
import type { RowPage } from './transitions.ts'

export type OpenRows = ReturnType<typeof openRows>

const DIGITS = 4
const PLACES = 16 ** DIGITS

export function openRows() {
  const pages = new Array<RowPage | undefined>(PLACES).fill(undefined)
  const placeOf = (requestId: string): number => Number.parseInt(requestId.slice(-DIGITS), 16) & (PLACES - 1)

  return {
    remember(page: RowPage): void {
      pages[placeOf(page.requestId)] = page
    },
    recall(requestId: string): RowPage | undefined {
      const page = pages[placeOf(requestId)]
      return page?.requestId === requestId ? page : undefined
    },
    forget(requestId: string): void {
      const place = placeOf(requestId)
      if (pages[place]?.requestId === requestId) pages[place] = undefined
    },
    clear(): void {
      pages.fill(undefined)
    },
  }
}
