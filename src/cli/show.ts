// Shows what the admin API returns: a page of a list as a table, or one object as fields.
import { withoutTrailing } from '../lib/text.ts'
import type { Input, Option } from './command.ts'
import type { Client, Json } from './http-client.ts'
import { type Cell, type Column, printFields, printJson, printRows } from './output.ts'

export const PAGE_OPTIONS: Readonly<Record<string, Option>> = {
  limit: { value: 'N', about: 'maximum number of rows (default 50)' },
  after: { value: 'ID', about: 'start after this entry' },
}

export type ListShape = {
  // As in a pipe, in this order.
  readonly columns: readonly string[]
  // In addition with -o wide, -o csv and --columns.
  readonly extra?: readonly string[]
  // The most important columns, for a narrow terminal; the others follow in their order.
  readonly first?: readonly string[]
  // The column of the ID.
  readonly id?: string
  // Fields that are computed from a row.
  derive?(row: Json): Json
}

// Shorter headings for a terminal; both are names of the column.
const HEADS: Readonly<Record<string, string>> = {
  http_status: 'http',
  prompt_tokens: 'prompt',
  completion_tokens: 'completion',
  spent_this_month: 'this_month',
  context_length: 'context',
  requests_in_flight: 'in_flight',
  requests_without_upstream_cost: 'unknown_cost',
  prompt_per_million: 'prompt/M',
  completion_per_million: 'completion/M',
}

export async function showList(client: Client, path: string, shape: ListShape, input: Input): Promise<number> {
  const query = new URLSearchParams(path.split('?')[1])
  for (const name of ['limit', 'after']) {
    const value = input.text(name)
    if (value !== undefined) query.set(name, value)
  }
  const answer = await client.call('GET', `${path.split('?')[0]}?${query}`)
  const rows = answer.data as readonly Json[]
  if (input.json) printJson(answer)
  else showRows(rows, shape, input)
  if (answer.has_more === true && !input.json)
    process.stderr.write(`More rows: --after ${answer.next_after ?? rows.at(-1)?.[shape.id ?? 'id']}\n`)
  return 0
}

export function showRows(rows: readonly Json[], shape: ListShape, input: Input): void {
  const { id = 'id', derive } = shape
  const columns = columnsOf(shape)
  const cells = rows.map(row => {
    const all = derive === undefined ? row : { ...row, ...derive(row) }
    return Object.fromEntries(columns.map(({ name }) => [name, cell(all[name])]))
  })
  printRows({ columns, rows: cells, id }, input)
}

function columnsOf({ columns, extra = [], first = columns }: ListShape): readonly Column[] {
  return [...columns, ...extra].map((name, at) => {
    const rank = first.indexOf(name)
    const head = HEADS[name]
    return {
      name,
      rank: rank < 0 ? first.length + at : rank,
      isExtra: extra.includes(name),
      ...(head === undefined ? {} : { head }),
    }
  })
}

// A secret is printed last, with a warning that it is shown only once. An empty body means success.
export function showOne(object: Json, input: Pick<Input, 'json'>): number {
  const shown = Object.entries(object).filter(([name]) => name !== 'object')
  const [secrets, others] = [shown.filter(isSecret), shown.filter(each => !isSecret(each))]
  if (input.json) printJson(shown.length === 0 ? { ok: true } : object)
  else if (shown.length > 0) printFields([...others, ...secrets].flatMap(fieldsOf))
  for (const [name] of input.json ? [] : secrets) {
    process.stderr.write(`Save the ${name} now. It is not stored and cannot be shown again.\n`)
  }
  if (shown.length === 0 && !input.json) process.stderr.write('done\n')
  return 0
}

// An object of plain values is one field for each: `balance.available`.
function fieldsOf([name, value]: readonly [string, unknown]): readonly (readonly [string, Cell])[] {
  const isPlain = typeof value === 'object' && value !== null && !Array.isArray(value)
  const inner = isPlain ? Object.entries(value).filter(([each]) => !each.startsWith('entered_')) : []
  if (inner.length === 0 || name.startsWith('entered_')) return [[name, cell(value)]]
  return inner.map(([each, part]) => [`${name}.${each}`, cell(part)])
}

function isSecret([name]: readonly [string, unknown]): boolean {
  return name === 'secret' || name === 'token'
}

export function cell(value: unknown): Cell {
  // What is empty is a dash on a terminal and nothing in CSV.
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return null
  if (!Array.isArray(value)) return typeof value === 'object' && value !== null ? pairs(value) : (value as Cell)
  return value.map(each => (isBudget(each) ? budgetText(each) : itemText(each))).join(', ')
}

function itemText(item: unknown): string {
  return typeof item === 'object' ? pairs(item) : String(item)
}

function isBudget(item: unknown): item is Json {
  return typeof item === 'object' && item !== null && 'window' in item && 'amount' in item && 'action' in item
}

// `0.5 of 25 per month (block)`.
function budgetText({ amount, window, action, spent }: Json): string {
  return `${spent} of ${amount} ${window === 'total' ? 'in total' : `per ${window}`} (${action})`
}

// Formats an object as `prompt=0.1 completion=0.2`, what is inside of it in brackets. Amounts as entered are left out: those in
// force are next to them.
function pairs(object: object | null): string {
  const isShown = (name: string) => name !== 'object' && !name.startsWith('entered_')
  const shown = Object.entries(object ?? {}).filter(([name, value]) => isShown(name) && value !== null)
  const text = shown.map(([name, value]) => `${name}=${typeof value === 'object' ? `[${nested(value)}]` : value}`)
  return text.length === 0 ? '-' : text.join(' ')
}

function nested(value: object): string {
  return Array.isArray(value) ? value.map(itemText).join('; ') : pairs(value)
}

// `prompt 2.5, completion 10`, per million tokens; `request` is per request.
export function priceText(rates: unknown): string | null {
  if (typeof rates !== 'object' || rates === null) return null
  const parts = Object.entries(rates).flatMap(([name, price]) => {
    if (name === 'tiers') return Array.isArray(price) && price.length > 0 ? [`${price.length} tiers`] : []
    if (price === null || /^0(\.0*)?$/.test(String(price))) return []
    return [`${name.replace(/^input_/, '')} ${name === 'request' ? price : (perMillion(price) ?? price)}`]
  })
  return parts.length === 0 ? 'free' : parts.join(', ')
}

// `0.0000025` per token is `2.5` per million tokens, exactly.
export function perMillion(price: unknown): string | undefined {
  const match = typeof price === 'string' ? /^(\d+)(?:\.(\d+))?$/.exec(price) : null
  if (match === null) return undefined
  const [, whole = '', decimals = ''] = match
  const digits = whole + decimals.slice(0, 6).padEnd(6, '0')
  const rest = withoutTrailing(decimals.slice(6), '0')
  return `${digits.replace(/^0+(?=\d)/, '')}${rest === '' ? '' : `.${rest}`}`
}
