// Recounts which tags the sums have: the rows of a key with too many combinations in one hour share an entry.
import { HOUR_MS } from '../../domain/usage.ts'
import { TAG_SETS_MAX, withOthers } from '../sql/usage/tag-sums.ts'
import type { Pass, PassRow } from './counts.ts'

// By hour and key: the tags that all of its rows have.
export type SharedTags = Map<string, Map<string, string>>

// As an expression, so that SQLite scans the table sequentially.
const HOUR = `created_at / ${HOUR_MS}`
const CROWDED = `SELECT ${HOUR} AS at, key_id || '' AS of_key FROM usage WHERE tags IS NOT NULL GROUP BY 1, 2
  HAVING COUNT(DISTINCT tags) > ${TAG_SETS_MAX}`

export function sharedTagsPass(shared: SharedTags): Pass {
  return {
    statement: `SELECT ${HOUR} AS at, key_id, tags FROM usage JOIN (${CROWDED}) c ON c.at = ${HOUR} AND c.of_key = key_id
      WHERE tags IS NOT NULL`,
    look({ at, key_id, tags }) {
      const own = new Map(Object.entries(JSON.parse(String(tags)) as Record<string, string>))
      const common = shared.get(`${at} ${key_id}`) ?? own
      for (const [name, value] of common) if (own.get(name) !== value) common.delete(name)
      shared.set(`${at} ${key_id}`, common)
    },
  }
}

export function tagsInSums(shared: SharedTags, row: PassRow, hour: number): string {
  if (row.tags === null || row.tags === undefined) return ''
  const common = shared.get(`${hour} ${row.key_id}`)
  return common === undefined ? String(row.tags) : withOthers(Object.fromEntries(common))
}
