// The small SQL interface that the repositories use: numbered parameters, bigint integers, transactions. Each engine implements
// it; the statements are the same on both. See docs/decisions/libraries-and-packaging.md.

export type Param = string | number | bigint | null
export type Row = Record<string, string | number | bigint | null>

export type Sql = {
  all(text: string, params?: readonly Param[]): Promise<readonly Row[]>
  get(text: string, params?: readonly Param[]): Promise<Row | undefined>
  // How many rows changed.
  run(text: string, params?: readonly Param[]): Promise<number>
  // All or nothing; the clock stands still inside it. Calls do not nest. Engines with several writers allow others between two
  // statements: a transaction first locks the row that it decides on, or names what it must have `alone`. It is run again from
  // its start if the database asks for a retry.
  transaction<T>(work: (tx: Tx) => Promise<T>, alone?: Alone): Promise<T>
  now(): number
  // How the usage rows of a key are found: by the index on their column, or by the view `usage_of_key`.
  readonly keyRows: 'column' | 'view'
  // What a text needs before `->>` reads it as JSON.
  readonly jsonCast: '' | '::json'
  // The items of a JSON list as a table `item` with the column `value`.
  jsonItems(list: string): string
  // The members of a JSON object as a table `pair` with the columns `key` and `value`, for a join.
  jsonPairs(object: string): string
}

export type Tx = Omit<Sql, 'transaction'>

// The catalog is decided on as a whole: names are unique over models and aliases, and their number is limited. Hours are claimed
// while no billing batch is running that does not know of the claim. Partitions are created and dropped by one node at a time,
// which gives up soon where the table is in use. Deliveries of webhooks are created in one order.
export type Alone = 'catalog' | 'hours' | 'partitions' | 'webhooks'

export function text(value: Row[string] | undefined): string {
  return typeof value === 'string' ? value : String(value ?? '')
}

export function textOrNull(value: Row[string] | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}

export function int(value: Row[string] | undefined): number {
  return Number(value ?? 0)
}

export function intOrNull(value: Row[string] | undefined): number | null {
  return value === null || value === undefined ? null : Number(value)
}

export function big(value: Row[string] | undefined): bigint {
  return BigInt(value ?? 0)
}

export function bigOrNull(value: Row[string] | undefined): bigint | null {
  return value === null || value === undefined ? null : BigInt(value)
}

// `$1, $2, …`, one placeholder per value.
export function numbered(values: readonly unknown[], first = 1): string {
  return values.map((_, i) => `$${first + i}`).join(', ')
}

// A page reads one row more than it shows, so that it knows whether there are more.
export function page<T>(rows: readonly Row[], limit: number, read: (row: Row) => T) {
  return { data: rows.slice(0, limit).map(read), hasMore: rows.length > limit }
}
