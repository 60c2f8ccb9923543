// Tags in the sums. A caller may send a new value with every request, so the rows of a key with too many combinations of tags in
// one hour are summed by the tags with few values, and a mark stands for the others.
import { type Tags, writeTags } from '../../../domain/tags.ts'
import { HOUR_MS } from '../../../domain/usage.ts'
import { OTHER_VALUES, type TagPair } from '../../contract/operator.ts'
import { type Conditions, conditions } from '../conditions.ts'
import { int, type Row, type Tx, text, textOrNull } from '../sql.ts'
import { addTimeRange } from '../time-order.ts'
import { CAUSE_OF_COSTS, DIMENSIONS, ROW_DIMENSIONS, SUMMED_ROWS } from './hour-columns.ts'
import type { Source } from './parts.ts'

// Per key and hour.
export const TAG_SETS_MAX = 100

// No tag has this name. It sorts before all others.
const OTHER_TAGS = '*'
const HAS_OTHERS = `tags LIKE '{"${OTHER_TAGS}":%'`

export function withOthers(kept: Tags): string {
  return writeTags({ [OTHER_TAGS]: OTHER_TAGS, ...kept })
}

// A tag of a key in an hour: how many of the key's rows have it, and its different values, of which absence is one.
export type TagCount = { readonly name: string; readonly rows: number; readonly values: number }

// Those with the fewest values, as long as their combinations cannot be too many. A tag that all rows have with one value, such as
// the key's own, adds none. One that fewer than a hundredth of the rows have is not considered: each row may have its own names.
export function keptTags<Count extends TagCount>(counts: readonly Count[], keyRows: number): readonly Count[] {
  const common = counts.filter(({ rows }) => rows * TAG_SETS_MAX >= keyRows)
  const order = common.sort((a, b) => a.values - b.values || b.rows - a.rows || (a.name < b.name ? -1 : 1))
  let combinations = 1
  return order.filter(({ values }) => {
    const isKept = combinations * values <= TAG_SETS_MAX
    if (isKept) combinations *= values
    return isKept
  })
}

type Kept = TagCount & { readonly value: string }
export type KeptTags = ReadonlyMap<string, readonly Kept[]>

// For each key with too many combinations.
export async function keptTagsByKey(from: number, to: number, sql: Tx): Promise<KeptTags> {
  const asked = conditions()
  addTimeRange(asked, from, to)
  asked.add('tags IS NOT NULL')
  const crowded = await sql.all(
    `SELECT key_id, COUNT(*) AS tagged FROM usage ${asked.where()} GROUP BY key_id
     HAVING COUNT(DISTINCT tags) > ${TAG_SETS_MAX}`,
    asked.params,
  )
  if (crowded.length === 0) return new Map()
  const keyRows = new Map(crowded.map(row => [text(row.key_id), int(row.tagged)]))
  const keys = sql.jsonItems(asked.param(JSON.stringify([...keyRows])))
  const counted = await sql.all(
    `SELECT key_id, pair.key AS name, COUNT(*) AS tagged, COUNT(DISTINCT pair.value) AS found, MIN(pair.value) AS value
     FROM (SELECT key_id, tags FROM usage ${asked.where()}) u
     JOIN (SELECT item.value ->> 0 AS of_key, CAST(item.value ->> 1 AS BIGINT) AS key_rows FROM ${keys}) c
       ON of_key = key_id, ${sql.jsonPairs('u.tags')}
     GROUP BY 1, 2, key_rows HAVING COUNT(*) * ${TAG_SETS_MAX} >= key_rows AND COUNT(DISTINCT pair.value) <= ${TAG_SETS_MAX}`,
    asked.params,
  )
  const counts = new Map<string, Kept[]>([...keyRows.keys()].map(keyId => [keyId, []]))
  for (const row of counted) {
    const [keyId, rows] = [text(row.key_id), int(row.tagged)]
    const values = int(row.found) + (rows < (keyRows.get(keyId) ?? 0) ? 1 : 0)
    counts.get(keyId)?.push({ name: text(row.name), rows, values, value: text(row.value) })
  }
  return new Map([...counts].map(([keyId, each]) => [keyId, keptTags(each, keyRows.get(keyId) ?? 0)]))
}

// The sums of the rows whose keys have too many combinations. A tag with one value needs no column.
export async function sumsByKeptTags(from: number, to: number, kept: KeptTags, sql: Tx): Promise<readonly Row[]> {
  const varying = new Map([...kept].map(([keyId, tags]) => [keyId, tags.filter(({ values }) => values > 1)]))
  const asked = conditions()
  addTimeRange(asked, from, to)
  asked.add('tags IS NOT NULL')
  const names = [...varying].map(([keyId, tags]) => [keyId, ...tags.map(({ name }) => name)])
  const items = sql.jsonItems(asked.param(JSON.stringify(names)))
  const columns = Array.from({ length: Math.max(...names.map(each => each.length)) - 1 }, (_, i) => `tag_${i}`)
  const nameColumns = columns.map((column, i) => `item.value ->> ${i + 1} AS ${column}_name`)
  const tagColumns = columns.map(column => `(tags${sql.jsonCast} ->> ${column}_name) AS ${column}`)
  const others = DIMENSIONS.filter(name => name !== 'tags')
  const dimensions = others.map(name => `${ROW_DIMENSIONS[name]} AS ${name}`)
  const groups = [...dimensions, `${CAUSE_OF_COSTS} AS cause`, ...tagColumns]
  const rows = await sql.all(
    `SELECT ${[...groups, ...SUMMED_ROWS].join(', ')} FROM usage
     JOIN (SELECT ${['item.value ->> 0 AS of_key', ...nameColumns].join(', ')} FROM ${items}) c ON of_key = key_id
     ${asked.where()} GROUP BY ${groups.map((_, i) => i + 1)}`,
    asked.params,
  )
  return rows.map(row => {
    const keyId = text(row.key_id)
    const tags = (kept.get(keyId) ?? []).filter(({ values }) => values === 1).map(({ name, value }) => [name, value])
    for (const [i, { name }] of (varying.get(keyId) ?? []).entries()) {
      const value = textOrNull(row[`tag_${i}`])
      if (value !== null) tags.push([name, value])
    }
    return { ...row, tags: withOthers(Object.fromEntries(tags) as Tags) }
  })
}

// A tag as the text of tags contains it. A quotation mark within a value is escaped, so it occurs nowhere else.
function pairText(name: string, value: string): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

// Whether a text of tags contains such a pair: the functions that find a text have other names on each engine.
function hasTag(column: string, pair: string): string {
  return `replace(${column}, ${pair}, '') <> ${column}`
}

// Only what has all of these tags. In sums that tell where to look for rows, also entries that may.
export function addTags(asked: Conditions, tags: readonly TagPair[] | undefined, has: 'certainly' | 'perhaps'): void {
  for (const [name, value] of tags ?? []) {
    const found = hasTag('tags', '?')
    asked.add(has === 'perhaps' ? `(${found} OR ${HAS_OTHERS})` : found, pairText(name, value))
  }
}

// The value of a tag, for a group of a summary; empty if there is none. Rows that are not summed yet are counted like those that
// are: a key with too many values in an hour has none of them listed.
export function tagGroup(name: string, { table, asked }: Pick<Source, 'table' | 'asked'>, sql: Tx): string {
  const value = `(NULLIF(tags, '')${sql.jsonCast} ->> CAST(${asked.param(name)} AS TEXT))`
  if (table !== 'usage') return `COALESCE(${value}, CASE WHEN ${HAS_OTHERS} THEN '${OTHER_VALUES}' ELSE '' END)`
  const crowded = `SELECT key_id, ${HOUR} FROM usage ${asked.where() || 'WHERE true'} AND tags IS NOT NULL GROUP BY 1, 2
    HAVING COUNT(DISTINCT ${value}) > ${TAG_SETS_MAX}`
  return `CASE WHEN tags IS NULL THEN '' WHEN (key_id, ${HOUR}) IN (${crowded}) THEN '${OTHER_VALUES}'
    ELSE COALESCE(${value}, '') END`
}

const HOUR = `created_at / ${HOUR_MS}`
