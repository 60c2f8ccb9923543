// Sums of usage records by time, dimension or tag: the highest cost first, with names and a total.
import { formatCredits, parseCredits } from '../../domain/credits.ts'
import { BadUsage, type Input } from '../command.ts'
import { readCount } from '../document.ts'
import type { Client, Json } from '../http-client.ts'
import { objectNames } from '../object-names.ts'
import { printJson } from '../output.ts'
import { showRows } from '../show.ts'
import { usageQuery } from './filters.ts'

// More rows have no names.
const NAMED_MAX = 100
const TIMES = ['day', 'hour']
const SUMS = [
  ...(['requests', 'errors', 'prompt_tokens', 'completion_tokens'] as const),
  ...(['requests_without_upstream_cost', 'failovers'] as const),
] as const
const AMOUNTS = ['cost', 'upstream_cost', 'margin'] as const

export async function summariseUsage(input: Input, client: Client): Promise<number> {
  const by = input.text('by') ?? 'day'
  const top = readCount(input, 'top')
  if (top === 0) throw new BadUsage('--top must be at least 1')
  const query = usageQuery(input)
  query.set('group_by', by)
  const answer = await client.call('GET', `/usage/summary?${query}`)
  const all = answer.data as readonly Json[]
  const sorted = TIMES.includes(by) ? all : all.toSorted(byCost)
  const shown = await named(sorted.slice(0, top), by, client)
  const totals = totalsOf(all)
  if (input.json) {
    printJson({ ...answer, data: shown, has_more: shown.length < all.length, totals })
    return 0
  }
  // Requests without a model or a provider have an empty group.
  const rows = shown.map(row => (row.group === '' ? { ...row, group: null } : row))
  const isNamed = shown.some(row => row.name !== undefined)
  const withTotal = process.stdout.isTTY && input.format === undefined && !input.flag('quiet')
  showRows(
    withTotal ? [...rows, { group: 'total', name: 'total', ...totals }] : rows,
    {
      columns: [
        'group',
        ...SUMS.slice(0, 4),
        ...AMOUNTS,
        'requests_without_upstream_cost',
        'failovers',
        ...(isNamed ? ['name'] : []),
      ],
      first: [isNamed ? 'name' : 'group', 'cost', 'upstream_cost', 'margin', 'requests', 'errors', 'group'],
      id: 'group',
    },
    input,
  )
  if (shown.length < all.length)
    process.stderr.write(`${shown.length} of ${all.length} groups; the total is that of all\n`)
  return 0
}

async function named(rows: readonly Json[], by: string, client: Client): Promise<readonly Json[]> {
  if (by !== 'account' && by !== 'key') return rows
  const ids = rows.slice(0, NAMED_MAX).map(({ group }) => String(group))
  const names = await objectNames(client).ofAll(by, ids)
  return rows.map((row, at) => ({ ...row, name: names[at] ?? row.group }))
}

function byCost(a: Json, b: Json): number {
  const [one, other] = [nano(a.cost), nano(b.cost)]
  return one === other ? Number(b.requests) - Number(a.requests) : one > other ? -1 : 1
}

// An amount that is unknown in one group is the sum of the others.
function totalsOf(rows: readonly Json[]): Json {
  const sums = SUMS.map(name => [name, rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0)])
  const amounts = AMOUNTS.map(name => {
    const known = rows.filter(row => row[name] !== null)
    const sum = known.reduce((total, row) => total + nano(row[name]), 0n)
    return [name, known.length === 0 && rows.length > 0 ? null : formatCredits(sum)]
  })
  return Object.fromEntries([...sums, ...amounts])
}

function nano(amount: unknown): bigint {
  return parseCredits(String(amount)) ?? 0n
}
