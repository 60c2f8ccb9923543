// Tags in the sums. A caller may send a new value with every request, so the rows of a key with too many combinations of tags in
// one hour share one entry: it has the tags that all of them have, among them the key's own, and a mark for the others.
import { type Tags, writeTags } from '../../../domain/tags.ts'
import { HOUR_MS } from '../../../domain/usage.ts'
import { OTHER_VALUES, type TagPair } from '../../contract/operator.ts'
import { type Conditions, conditions } from '../conditions.ts'
import { int, type Tx, text } from '../sql.ts'
import { addTimeRange } from '../time-order.ts'
import type { Source } from './parts.ts'

// Per key and hour.
export const TAG_SETS_MAX = 100

// No tag has this name. It sorts before all others.
export const OTHER_TAGS = '*'
const HAS_OTHERS = `tags LIKE '{"${OTHER_TAGS}":%'`

export function withOthers(shared: Tags): string {
  return writeTags({ [OTHER_TAGS]: OTHER_TAGS, ...shared })
}

// The keys with too many combinations, as a subquery.
export function crowdedKeys(where: string): string {
  return `SELECT key_id FROM usage ${where} AND tags IS NOT NULL GROUP BY key_id
    HAVING COUNT(DISTINCT tags) > ${TAG_SETS_MAX}`
}

// The tags of the shared entry, for each such key.
export async function sharedTags(from: number, to: number, sql: Tx): Promise<ReadonlyMap<string, string>> {
  const asked = conditions()
  addTimeRange(asked, from, to)
  const keys = await sql.all(crowdedKeys(asked.where()), asked.params)
  const shared = new Map<string, string>()
  for (const row of keys) shared.set(text(row.key_id), withOthers(await tagsOfAll(text(row.key_id), from, to, sql)))
  return shared
}

// Those that every row with tags has: of the tags of one row, those that no other row lacks.
async function tagsOfAll(keyId: string, from: number, to: number, sql: Tx): Promise<Tags> {
  const ofKey = () => {
    const asked = conditions()
    addTimeRange(asked, from, to)
    asked.add('key_id = ?', keyId)
    asked.add('tags IS NOT NULL')
    return asked
  }
  const one = ofKey()
  const some = await sql.get(`SELECT tags FROM usage ${one.where()} LIMIT 1`, one.params)
  const pairs = Object.entries(JSON.parse(text(some?.tags ?? '{}')) as Tags)
  if (pairs.length === 0) return {}
  const all = ofKey()
  const counts = pairs.map(([name, value], i) => {
    const has = hasTag('tags', all.param(pairText(name, value)))
    return `SUM(CASE WHEN ${has} THEN 0 ELSE 1 END) AS lacking_${i}`
  })
  const lacking = await sql.get(`SELECT ${counts.join(', ')} FROM usage ${all.where()}`, all.params)
  return Object.fromEntries(pairs.filter((_, i) => int(lacking?.[`lacking_${i}`]) === 0))
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
