// The dimensions and summands of roll-ups, written once for rows, hours and days.
import { CAUSE_CODES, ERROR_CAUSES, type ErrorCause, ERROR_OUTCOMES as OUTCOMES } from '../../../domain/error-cause.ts'
import { BILLED_ENDPOINTS } from '../../../domain/usage.ts'
import { TOKEN_COLUMNS } from '../../billing/usage-columns.ts'
import { int, type Param, type Row, type Tx } from '../sql.ts'

// The model of a request that named an unknown one is left out: such names are the caller's, and there may be a new one with
// every request.
const MODEL = `CASE WHEN error_code = 'model_not_found' THEN '' ELSE COALESCE(model_served, model_requested, '') END`

// For a usage row. Their tags are those of the row, unless its key has too many combinations.
export const ROW_DIMENSIONS = {
  account_id: 'account_id',
  key_id: 'key_id',
  model: MODEL,
  provider: `COALESCE(provider, '')`,
  endpoint: 'endpoint',
  outcome: `COALESCE(outcome, '')`,
  tags: `COALESCE(tags, '')`,
} as const

export type Dimension = keyof typeof ROW_DIMENSIONS
export const DIMENSIONS = Object.keys(ROW_DIMENSIONS) as readonly Dimension[]

export const SUM_COLUMNS = [
  'requests',
  ...TOKEN_COLUMNS,
  'cost',
  'upstream_cost',
  'overshoot',
  'requests_without_upstream_cost',
  'cost_without_upstream_cost',
  ...ERROR_CAUSES.map(cause => `${cause}_errors` as const),
  'failovers',
] as const
type SumColumn = (typeof SUM_COLUMNS)[number]
type TokenColumn = (typeof TOKEN_COLUMNS)[number]

// A provider served the request, and what it charged for that is unknown.
const WITHOUT_UPSTREAM_COST = 'provider IS NOT NULL AND upstream_cost IS NULL'

// More than one attempt, as JSON: in a text the quotation mark would be escaped.
const HAS_FAILED_OVER = `attempts LIKE '%},{"%'`

const listed = (names: readonly string[]) => `(${names.map(name => `'${name}'`).join(', ')})`

export const ERROR_OUTCOMES = listed(OUTCOMES)
export const IS_ERROR = `outcome IN ${ERROR_OUTCOMES}`

// The same as `causeOf`.
export const CAUSE = `CASE WHEN outcome IS NULL OR outcome NOT IN ${ERROR_OUTCOMES} THEN ''
  ${Object.entries(CAUSE_CODES)
    .map(([cause, codes]) => `WHEN error_code IN ${listed(codes)} THEN '${cause}'`)
    .join(' ')}
  WHEN outcome <> 'refused' THEN 'provider' WHEN error_code IS NULL THEN 'other' ELSE 'caller' END`

// Failures that may have a cost are summed by their cause as well: a filter on the cause reads their tokens and costs. All others
// have neither.
export const CAUSE_OF_COSTS = `CASE WHEN outcome IN ('upstream_failed', 'upstream_broke') THEN ${CAUSE} ELSE '' END`

const CAUSE_SUMMANDS = Object.fromEntries(
  ERROR_CAUSES.map(cause => [`${cause}_errors`, `CASE WHEN ${CAUSE} = '${cause}' THEN requests ELSE 0 END`]),
) as Record<`${ErrorCause}_errors`, string>

// What one row adds to a sum; sums of hours and days are added unchanged.
export const ROW_SUMMANDS: Readonly<Record<SumColumn, string>> = {
  requests: 'requests',
  ...(Object.fromEntries(TOKEN_COLUMNS.map(column => [column, column])) as Record<TokenColumn, string>),
  cost: 'cost',
  upstream_cost: 'COALESCE(upstream_cost, 0)',
  overshoot: 'CASE WHEN cost > hold THEN cost - hold ELSE 0 END',
  requests_without_upstream_cost: `CASE WHEN ${WITHOUT_UPSTREAM_COST} THEN requests ELSE 0 END`,
  cost_without_upstream_cost: `CASE WHEN ${WITHOUT_UPSTREAM_COST} THEN cost ELSE 0 END`,
  ...CAUSE_SUMMANDS,
  failovers: `CASE WHEN ${HAS_FAILED_OVER} THEN requests ELSE 0 END`,
}

export const SUMMED_ROWS: readonly string[] = SUM_COLUMNS.map(name => `SUM(${ROW_SUMMANDS[name]}) AS ${name}`)

export const BILLED = `endpoint IN ${listed(BILLED_ENDPOINTS)}`

// Rows that count for the duration of requests: the completed ones.
export const TIMED = `${BILLED} AND outcome = 'completed' AND finished_at >= created_at`
export const ROW_MS = 'finished_at - created_at'

// Writes sums: which hour or day is to be made with which version, and many rows by few statements.
export type Pending = { readonly at: number; readonly mark: number }

const SIZES = [128, 16, 1]

export function readPending(row: Row): Pending {
  return { at: int(row.at), mark: int(row.mark) }
}

// Statements are cached by their text, so there is one for each of a few sizes and not for every number of rows.
export async function insertAll(tx: Tx, into: string, values: readonly (readonly Param[])[]): Promise<void> {
  for (let i = 0; i < values.length; ) {
    const size = SIZES.find(each => each <= values.length - i) as number
    const chunk = values.slice(i, i + size)
    let next = 0
    const rows = chunk.map(row => `(${row.map(() => `$${++next}`).join(', ')})`)
    await tx.run(`INSERT INTO ${into} VALUES ${rows.join(', ')}`, chunk.flat())
    i += size
  }
}
