// The arithmetic of the sizing table, and the table as Markdown.
import type { Inputs } from './sizing-inputs.ts'

export const RATES: readonly number[] = [100, 1000, 10_000, 100_000]

export type Size = {
  readonly requestsPerSecond: number
  readonly nodes: number
  readonly nodesForStreams: number
  readonly postgresCores: number
  readonly postgresRowsPerSecond: number
  readonly postgresTransactionsPerSecond: number
  readonly walBytesPerSecond: number
  readonly redisOpsPerSecond: number
  readonly diskBytesPerDay: number
  // The utilisation of one instance; above 1 one is not enough.
  readonly shares: { readonly 'Postgres CPU': number; readonly 'Postgres log': number; readonly Redis: number }
  readonly first: string
}

const SECONDS_A_DAY = 86_400
// A node is one process on one core; a single node has no redundancy.
const NODES_MIN = 2
// The reservation and the settlement.
const WRITES_A_REQUEST = 2

export function sizeFor(rate: number, inputs: Inputs): Size {
  const { postgres, utilisation } = inputs
  const cores = (cpuUs: number) => (rate * cpuUs) / 1e6 / utilisation
  const nodes = Math.max(NODES_MIN, Math.ceil(cores(inputs.nodeCpuUs)))
  const walBytesPerSecond = rate * postgres.walBytes
  const shares = {
    'Postgres CPU': cores(postgres.cpuUs) / inputs.postgresCoresMax,
    'Postgres log': walBytesPerSecond / inputs.postgresWalBytesMax,
    Redis: cores(inputs.redisOps * inputs.redisCpuUs) / inputs.redisCoresMax,
  }
  return {
    requestsPerSecond: rate,
    nodes,
    nodesForStreams: Math.max(NODES_MIN, Math.ceil(cores(inputs.nodeStreamCpuUs))),
    postgresCores: cores(postgres.cpuUs),
    postgresRowsPerSecond: rate * postgres.rowsWritten,
    // Idle nodes commit each write separately; busy ones one batch after the other, whatever is in it.
    postgresTransactionsPerSecond: Math.min(rate * WRITES_A_REQUEST, (nodes * 1000) / inputs.batchMs),
    walBytesPerSecond,
    redisOpsPerSecond: rate * inputs.redisOps,
    diskBytesPerDay: rate * postgres.diskBytes * SECONDS_A_DAY,
    shares,
    first: firstOf(shares),
  }
}

function firstOf(shares: Size['shares']): string {
  const [name = '', share = 0] = Object.entries(shares).sort(([, a], [, b]) => b - a)[0] ?? []
  return `${name}, ${share < 0.01 ? 'under 1' : Math.round(share * 100)} %`
}

const COLUMNS: readonly (readonly [title: string, of: (size: Size) => string])[] = [
  ['requests a second', size => whole(size.requestsPerSecond)],
  ['nodes, JSON', size => whole(size.nodes)],
  ['nodes, streams', size => whole(size.nodesForStreams)],
  ['Postgres cores', size => (size.postgresCores < 1 ? '1' : whole(Math.ceil(size.postgresCores)))],
  ['rows written a second', size => whole(size.postgresRowsPerSecond)],
  ['transactions a second', size => whole(size.postgresTransactionsPerSecond)],
  ['Postgres log', size => `${bytes(size.walBytesPerSecond)}/s`],
  ['Redis operations a second', size => whole(size.redisOpsPerSecond)],
  ['disk a day', size => bytes(size.diskBytesPerDay)],
  ['nearest to its limit', size => size.first],
]

export function sizingTable(inputs: Inputs): string {
  const rows = RATES.map(rate => COLUMNS.map(([, of]) => of(sizeFor(rate, inputs))))
  const ruler = COLUMNS.map((_, i) => (i === COLUMNS.length - 1 ? '---' : '---:'))
  return [COLUMNS.map(([title]) => title), ruler, ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

// The inputs, labelled for the document.
function inputTable(inputs: Inputs): string {
  const { postgres } = inputs
  const rows: readonly (readonly [string, string, string])[] = [
    ['CPU of a node, JSON', `${inputs.nodeCpuUs} µs`, '`npm run bench -- --scale`, one node'],
    ['CPU of a node, stream of 50 chunks', `${inputs.nodeStreamCpuUs} µs`, 'the same'],
    ['CPU of Postgres', `${postgres.cpuUs} µs`, '`npm run sizing -- --measure`'],
    ['rows written', String(postgres.rowsWritten), 'the same'],
    ['log', `${whole(postgres.walBytes)} bytes`, 'the same'],
    ['disk, tables and indexes', `${whole(postgres.diskBytes)} bytes`, 'the same, after vacuum'],
    [
      'writes in one transaction',
      String(Math.round(WRITES_A_REQUEST / postgres.transactions)),
      'the same, 64 requests at once',
    ],
    [
      'time of a transaction',
      `${inputs.batchMs} ms`,
      'assumed: a disk with 1 ms an fsync, half a millisecond to it and back',
    ],
    ['CPU of Redis', `${inputs.redisCpuUs} µs`, '`redis-benchmark` with the script of the buckets'],
    ['utilisation', `${inputs.utilisation * 100} %`, 'of every core, so that a node may fail and a peak may come'],
    [
      'the largest Postgres',
      `${inputs.postgresCoresMax} cores, ${bytes(inputs.postgresWalBytesMax)}/s of log`,
      'assumed',
    ],
    ['the largest Redis', `${inputs.redisCoresMax} core`, 'scripts run on one thread'],
  ]
  return [['input, per chat unless it says otherwise', 'value', 'where from'], ['---', '---:', '---'], ...rows]
    .map(cells => `| ${cells.join(' | ')} |`)
    .join('\n')
}

// The document with both tables inserted.
export function withTables(document: string, inputs: Inputs): string {
  return placed(placed(document, 'sizing', sizingTable(inputs)), 'inputs', inputTable(inputs))
}

function placed(document: string, name: string, table: string): string {
  const place = new RegExp(`(<!-- ${name} -->\\n)[\\s\\S]*?(\\n<!-- /${name} -->)`)
  return document.replace(place, (_, before: string, after: string) => before + table + after)
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

function bytes(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3))
  const scaled = value / 10 ** (3 * step)
  return `${scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${units[step]}`
}
