// The columns of a usage row, in one ordered table: statements, binders, readers and the thread codec are made from it.

export type ColumnType =
  | 'text'
  | 'text?'
  | 'integer'
  | 'integer?'
  // Nano-credits.
  | 'credits'
  | 'credits?'
  | 'boolean'
  // Text that contains JSON; a row without it reads as an empty list.
  | 'json?'

export type UsageColumn = {
  readonly column: string
  // Where its value is in the records of a row. Null: the column is only used by the store.
  readonly field: string | null
  readonly type: ColumnType
  // `request`: known before the reservation, and a field of the request's facts. `open`: written with the row. `close`: written
  // by its settlement. `open, close`: a settlement replaces it where it has a value. `state`: written by the statements
  // themselves.
  readonly written: 'request' | 'open' | 'close' | 'open, close' | 'state'
}

export const USAGE_COLUMNS = [
  { column: 'request_id', field: 'requestId', type: 'text', written: 'request' },
  { column: 'client_request_id', field: 'clientRequestId', type: 'text?', written: 'request' },
  { column: 'account_id', field: 'accountId', type: 'text', written: 'request' },
  { column: 'key_id', field: 'keyId', type: 'text', written: 'request' },
  { column: 'secret_last4', field: 'secretLast4', type: 'text', written: 'request' },
  { column: 'endpoint', field: 'endpoint', type: 'text', written: 'request' },
  { column: 'client_ip', field: 'clientIp', type: 'text', written: 'request' },
  { column: 'created_at', field: 'createdAt', type: 'integer', written: 'request' },
  { column: 'tags', field: 'tags', type: 'text?', written: 'request' },
  { column: 'model_requested', field: 'modelRequested', type: 'text?', written: 'open' },
  { column: 'stream', field: 'stream', type: 'boolean', written: 'open' },
  { column: 'requests', field: 'requests', type: 'integer', written: 'open' },
  { column: 'hold', field: 'hold', type: 'credits', written: 'open' },
  { column: 'price_version', field: 'priceVersion', type: 'text?', written: 'open, close' },
  { column: 'price', field: 'price', type: 'text?', written: 'open, close' },
  { column: 'state', field: 'state', type: 'text', written: 'state' },
  { column: 'owner', field: null, type: 'text?', written: 'state' },
  { column: 'checkpoint', field: null, type: 'text?', written: 'state' },
  { column: 'outcome', field: 'outcome', type: 'text?', written: 'close' },
  { column: 'http_status', field: 'httpStatus', type: 'integer?', written: 'close' },
  { column: 'error_code', field: 'errorCode', type: 'text?', written: 'close' },
  { column: 'error_message', field: 'errorMessage', type: 'text?', written: 'close' },
  { column: 'error_detail', field: 'errorDetail', type: 'text?', written: 'close' },
  { column: 'finish_reason', field: 'finishReason', type: 'text?', written: 'close' },
  { column: 'model_served', field: 'modelServed', type: 'text?', written: 'close' },
  { column: 'provider', field: 'provider', type: 'text?', written: 'close' },
  { column: 'attempts', field: 'attempts', type: 'json?', written: 'close' },
  { column: 'routing', field: 'routing', type: 'json?', written: 'close' },
  { column: 'prompt_tokens', field: 'tokens.prompt', type: 'integer', written: 'close' },
  { column: 'cached_tokens', field: 'tokens.cached', type: 'integer', written: 'close' },
  { column: 'cache_write_tokens', field: 'tokens.cacheWrite', type: 'integer', written: 'close' },
  { column: 'cache_write_1h_tokens', field: 'tokens.cacheWrite1h', type: 'integer', written: 'close' },
  { column: 'image_tokens', field: 'tokens.image', type: 'integer', written: 'close' },
  { column: 'audio_tokens', field: 'tokens.audio', type: 'integer', written: 'close' },
  { column: 'completion_tokens', field: 'tokens.completion', type: 'integer', written: 'close' },
  { column: 'reasoning_tokens', field: 'tokens.reasoning', type: 'integer', written: 'close' },
  { column: 'usage_source', field: 'usageSource', type: 'text', written: 'close' },
  { column: 'cost', field: 'cost', type: 'credits', written: 'close' },
  { column: 'upstream_cost', field: 'upstreamCost', type: 'credits?', written: 'close' },
  { column: 'first_byte_at', field: 'firstByteAt', type: 'integer?', written: 'close' },
  { column: 'finished_at', field: 'finishedAt', type: 'integer?', written: 'close' },
  { column: 'upstream_id', field: 'upstreamId', type: 'text?', written: 'close' },
] as const satisfies readonly UsageColumn[]

type Column = (typeof USAGE_COLUMNS)[number]
export type UsageColumnName = Column['column']
// A column with a field in the records of a row.
export type FieldColumn = Extract<Column, { field: string }>

export const REPORTED: readonly FieldColumn[] = USAGE_COLUMNS.filter(({ field }) => field !== null) as FieldColumn[]

const isRequest = ({ written }: FieldColumn) => written === 'request'
const isBody = ({ column }: FieldColumn) => column === 'model_requested' || column === 'stream'
const isPrice = ({ written }: FieldColumn) => written === 'open, close'

// What the reservation knows of every request, and the two columns that its body adds.
export const REQUEST_COLUMNS = REPORTED.filter(isRequest)

// A row that is opened with a hold.
export const OPENED_COLUMNS = REPORTED.filter(
  column => isRequest(column) || isBody(column) || isPrice(column) || column.column === 'hold',
)

// A row that is inserted closed, since it costs nothing.
const CLOSED: readonly UsageColumnName[] = [
  ...(['outcome', 'http_status', 'error_code', 'error_message', 'error_detail'] as const),
  ...(['finished_at', 'requests'] as const),
]
export const CLOSED_COLUMNS = REPORTED.filter(
  column => isRequest(column) || isBody(column) || CLOSED.includes(column.column),
)

// What a settlement sets, and what it replaces where it has a value.
export const SETTLED_COLUMNS = REPORTED.filter(({ written }) => written === 'close')
export const REPLACED_COLUMNS = REPORTED.filter(isPrice)
export const SETTLEMENT_COLUMNS = REPORTED.filter(
  column => column.column === 'request_id' || column.written === 'close' || isPrice(column),
)

// Those that are summed up.
export const TOKEN_COLUMNS = [
  'prompt_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'reasoning_tokens',
] as const satisfies readonly UsageColumnName[]

export function namesOf(columns: readonly { readonly column: UsageColumnName }[]): string {
  return columns.map(({ column }) => column).join(', ')
}

// A list of columns for a SELECT, each a name that exists.
export function select(columns: readonly UsageColumnName[], alias?: string): string {
  return columns.map(column => (alias === undefined ? column : `${alias}.${column}`)).join(', ')
}
