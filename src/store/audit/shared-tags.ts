// Recounts by which tags the rows of a key with too many combinations in one hour are summed.
import type { Tags } from '../../domain/tags.ts'
import { HOUR_MS } from '../../domain/usage.ts'
import { keptTags, TAG_SETS_MAX, withOthers } from '../sql/usage/tag-sums.ts'
import type { Pass, PassRow } from './counts.ts'

// By hour and key: the names of the tags that the sums have.
export type SharedTags = Map<string, ReadonlySet<string>>

// As an expression, so that SQLite scans the table sequentially.
const HOUR = `created_at / ${HOUR_MS}`
const CROWDED = `SELECT ${HOUR} AS at, key_id || '' AS of_key FROM usage WHERE tags IS NOT NULL GROUP BY 1, 2
  HAVING COUNT(DISTINCT tags) > ${TAG_SETS_MAX}`

// Of one key in one hour. Of the values of a tag no more are kept than needed to know that there are too many.
type Counted = {
  readonly group: string
  rows: number
  readonly tags: Map<string, { rows: number; values: Set<string> }>
}

export function sharedTagsPass(shared: SharedTags): Pass {
  let counted: Counted | undefined
  const finish = () => {
    if (counted === undefined) return
    const { group, rows: all, tags } = counted
    const counts = [...tags].map(([name, { rows, values }]) => ({
      name,
      rows,
      values: values.size + (rows < all ? 1 : 0),
    }))
    shared.set(group, new Set(keptTags(counts, all).map(({ name }) => name)))
  }
  return {
    statement: `SELECT ${HOUR} AS at, key_id, tags FROM usage JOIN (${CROWDED}) c ON c.at = ${HOUR} AND c.of_key = key_id
      WHERE tags IS NOT NULL ORDER BY 1, 2`,
    look({ at, key_id, tags }) {
      const group = `${at} ${key_id}`
      if (counted?.group !== group) {
        finish()
        counted = { group, rows: 0, tags: new Map() }
      }
      counted.rows++
      for (const [name, value] of Object.entries(tagsOf(tags))) {
        const tag = counted.tags.get(name) ?? { rows: 0, values: new Set() }
        tag.rows++
        if (tag.values.size <= TAG_SETS_MAX) tag.values.add(value)
        counted.tags.set(name, tag)
      }
    },
    end: finish,
  }
}

export function tagsInSums(shared: SharedTags, row: PassRow, hour: number): string {
  if (row.tags === null || row.tags === undefined) return ''
  const names = shared.get(`${hour} ${row.key_id}`)
  if (names === undefined) return String(row.tags)
  return withOthers(Object.fromEntries(Object.entries(tagsOf(row.tags)).filter(([name]) => names.has(name))))
}

function tagsOf(tags: PassRow[string] | undefined): Tags {
  return JSON.parse(String(tags)) as Tags
}
