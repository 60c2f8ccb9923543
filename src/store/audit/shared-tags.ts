// Recounts by which tags the rows of a key with too many combinations in one hour are summed.
import type { Tags } from '../../domain/tags.ts'
import { HOUR_MS } from '../../domain/usage.ts'
import type { Sql } from '../sql/sql.ts'
import { keptTags, TAG_SETS_MAX, type TagCount, withOthers } from '../sql/usage/tag-sums.ts'
import type { Pass, PassRow } from './counts.ts'

// By hour and key: the names of the tags that the sums have.
export type SharedTags = Map<string, ReadonlySet<string>>

// As an expression, so that SQLite scans the table sequentially.
const HOUR = `created_at / ${HOUR_MS}`
const CROWDED = `SELECT ${HOUR} AS at, key_id || '' AS of_key, COUNT(*) AS key_rows FROM usage WHERE tags IS NOT NULL GROUP BY 1, 2
  HAVING COUNT(DISTINCT tags) > ${TAG_SETS_MAX}`

// The engine counts, and returns only tags that the sums may have: callers decide how many names there are.
const countsBy = ({ jsonPairs }: Pick<Sql, 'jsonPairs'>) => `
  SELECT at, of_key, key_rows, pair.key AS name, COUNT(*) AS tagged, COUNT(DISTINCT pair.value) AS found
  FROM (${CROWDED}) c JOIN usage u ON ${HOUR} = at AND u.key_id = of_key, ${jsonPairs('u.tags')}
  WHERE u.tags IS NOT NULL GROUP BY 1, 2, 3, 4
  HAVING COUNT(*) * ${TAG_SETS_MAX} >= key_rows AND COUNT(DISTINCT pair.value) <= ${TAG_SETS_MAX} ORDER BY 1, 2`

export function sharedTagsPasses(shared: SharedTags, sql: Pick<Sql, 'jsonPairs'>): readonly Pass[] {
  // Of one key in one hour.
  let counted: { readonly group: string; readonly rows: number; readonly tags: TagCount[] } | undefined
  const finish = () => {
    if (counted === undefined) return
    shared.set(counted.group, new Set(keptTags(counted.tags, counted.rows).map(({ name }) => name)))
  }
  return [
    { statement: CROWDED, look: ({ at, of_key }) => void shared.set(`${at} ${of_key}`, new Set()) },
    {
      statement: countsBy(sql),
      look({ at, of_key, key_rows, name, tagged, found }) {
        const group = `${at} ${of_key}`
        if (counted?.group !== group) {
          finish()
          counted = { group, rows: Number(key_rows), tags: [] }
        }
        const rows = Number(tagged)
        counted.tags.push({ name: String(name), rows, values: Number(found) + (rows < counted.rows ? 1 : 0) })
      },
      end: finish,
    },
  ]
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
