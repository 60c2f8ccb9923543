// The index of usage rows by key. A trigger adds every new row to `usage_recent`, in the order of time; when there are many, they
// are moved to `usage_by_key` in the order of the keys, so that rows of one key share a page. Batches run between two steps.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Failpoint } from '../../lib/failpoint.ts'
import { type Row, type Tx, text } from '../sql/sql.ts'
import type { SqliteSql } from './sql.ts'

export type IndexBounds = {
  // A list of a key's rows reads at most about twice as many entries that are not in its order.
  readonly recentMax: number
  // Entries of a slice, about.
  readonly sliceMax: number
  // Entries that one transaction moves and deletes: fewer than a slice, since it reads no others.
  readonly stepMax: number
  // Every slice of a round reads all of its entries: of a larger backlog the oldest are moved first.
  readonly roundMax: number
}

const INDEX_BOUNDS: IndexBounds = { recentMax: 32_768, sliceMax: 4096, stepMax: 1024, roundMax: 65_536 }

export type IndexOptions = {
  readonly bounds?: IndexBounds
  // Lets batches run between two steps.
  readonly turn?: () => Promise<void>
  readonly failpoint?: Failpoint | undefined
}

export function usageIndex(sql: SqliteSql, options: IndexOptions = {}) {
  const { bounds = INDEX_BOUNDS, turn = nextTurn, failpoint } = options
  const { all, get, run } = sql
  const count = () => Number(sql.prepare('SELECT COUNT(*) AS n FROM usage_recent').get()?.n)
  let recent = count()
  let moving: Promise<void> | undefined
  let isClosing = false
  // Of the entries that slices move: the last one, and those that were inserted meanwhile, which a slice may have missed. A row may
  // come later than others with newer ids: requests are admitted in another order than they arrive, refusals are counted for up to
  // a minute, and clocks are set back.
  let last = ''
  let late: string[] = []

  async function move(): Promise<void> {
    const { roundMax, stepMax } = bounds
    late = []
    last = text(((await get(OLDEST, ['~', roundMax - 1])) ?? (await get(NEWEST)))?.request_id)
    const sample = await all(SAMPLE, [last])
    await turn()
    const isMoved = !isOfFewKeys(sample)
    if (isMoved) await moveByKey(sample)
    for (let moved = stepMax; moved >= stepMax && !isClosing; await turn()) {
      const upTo = text((await get(OLDEST, [last, stepMax - 1]))?.request_id ?? last)
      moved = await sql.transaction(tx => removeUpTo(tx, upTo, { isMoved }))
      late = late.filter(id => id > upTo)
      failpoint?.('after_index_delete')
    }
  }

  // Removes entries from `usage_recent`, and moves them if slices have not, or not all of them.
  async function removeUpTo(tx: Tx, upTo: string, { isMoved }: { readonly isMoved: boolean }): Promise<number> {
    if (!isMoved || late.some(id => id <= upTo)) await tx.run(MOVE_UP_TO, [upTo])
    failpoint?.('in_index_delete')
    return tx.run('DELETE FROM usage_recent WHERE request_id <= $1', [upTo])
  }

  // Entries are in both tables until all are moved: deleting them one by one would write most pages of `usage_recent` each time.
  async function moveByKey(sample: readonly Row[]): Promise<void> {
    const slices = Math.ceil(Math.min(recent, bounds.roundMax) / bounds.sliceMax)
    let [keyId, requestId] = ['', '']
    for (const end of [...endsOf(sample, slices), { key_id: '~', request_id: '' }]) {
      if (isClosing) return
      await run(MOVE_SLICE, [last, keyId, requestId, text(end.key_id), text(end.request_id)])
      keyId = text(end.key_id)
      requestId = text(end.request_id)
      failpoint?.('in_index_move')
      await turn()
    }
    failpoint?.('after_index_move')
  }

  return {
    // Rows were inserted: called in the same turn as their commit, or a step might delete one that it does not know to be late.
    added(ids: readonly string[]): void {
      recent += ids.length
      if (moving !== undefined) for (const id of ids) if (id <= last) late.push(id)
      if (recent < bounds.recentMax || moving !== undefined || isClosing) return
      // Counted again, since rows were deleted too. An error (a full disk) leaves the rest where it is, for the next attempt, as many
      // rows later.
      moving = move()
        .then(count)
        .catch(() => 0)
        .then(rows => {
          recent = rows
          moving = undefined
        })
    },
    // What has not been moved stays in `usage_recent`.
    async close(): Promise<void> {
      isClosing = true
      await moving
    },
  }
}

// One of 256 entries, by the last digits of the ids, which are random: sorting all of them would hold up batches.
const SAMPLE = `SELECT key_id, request_id FROM usage_recent WHERE request_id <= $1 AND request_id LIKE '%00'`

// The rows of few keys share pages in the order of time too: they need no slices, each of which reads all entries.
function isOfFewKeys(sample: readonly Row[]): boolean {
  const keys = new Set(sample.map(row => row.key_id)).size
  return keys > 0 && keys <= sample.length / 4
}

// Where slices of about the same size end, in the order of the index; the last one ends with the last entry.
function endsOf(sample: readonly Row[], slices: number): readonly Row[] {
  const inOrder = sample.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1))
  const ends = Array.from({ length: slices - 1 }, (_, i) => inOrder[Math.floor(((i + 1) * inOrder.length) / slices)])
  return ends.filter(end => end !== undefined)
}

function sortKey({ key_id: keyId, request_id: requestId }: Row): string {
  return `${text(keyId)} ${text(requestId)}`
}

// Reads again what it writes: a row that was deleted meanwhile must not come back.
const MOVE_SLICE = `INSERT OR IGNORE INTO usage_by_key (key_id, request_id)
  SELECT key_id, request_id FROM usage_recent
  WHERE request_id <= $1 AND (key_id, request_id) > ($2, $3) AND (key_id, request_id) <= ($4, $5)
  ORDER BY key_id, request_id`

const NEWEST = 'SELECT request_id FROM usage_recent ORDER BY request_id DESC LIMIT 1'
const OLDEST = 'SELECT request_id FROM usage_recent WHERE request_id <= $1 ORDER BY request_id LIMIT 1 OFFSET $2'
const MOVE_UP_TO = `INSERT OR IGNORE INTO usage_by_key (key_id, request_id)
  SELECT key_id, request_id FROM usage_recent WHERE request_id <= $1 ORDER BY key_id, request_id`
