// A cache of open rows by request id: a fixed number of slots, each for one row. The slot follows from the last digits of the id,
// which are random; on a collision the later row has it, and the other is read from the database. Not a Map: every id would
// become an internalised string and stay until a full collection, and so would everything still in the tables that a Map has
// outgrown.

export type OpenRows<Kept> = {
  remember(record: Kept): void
  recall(requestId: string): Kept | undefined
  forget(requestId: string): void
  clear(): void
}

const DIGITS = 4
const PLACES = 16 ** DIGITS

export function openRows<Kept extends { readonly requestId: string }>(): OpenRows<Kept> {
  const records = new Array<Kept | undefined>(PLACES).fill(undefined)
  const placeOf = (requestId: string): number => Number.parseInt(requestId.slice(-DIGITS), 16) & (PLACES - 1)

  return {
    remember(record) {
      records[placeOf(record.requestId)] = record
    },
    recall(requestId) {
      const record = records[placeOf(requestId)]
      return record?.requestId === requestId ? record : undefined
    },
    forget(requestId) {
      const place = placeOf(requestId)
      if (records[place]?.requestId === requestId) records[place] = undefined
    },
    clear() {
      records.fill(undefined)
    },
  }
}
