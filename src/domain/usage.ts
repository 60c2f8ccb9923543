// The usage record: one row per request, from its reservation to its settlement; and the hours that usage is rolled up by.
import type { Nano, Tokens } from './credits.ts'
import { DAY_MS } from './key.ts'
import type { Considered } from './routing.ts'

// Endpoints whose requests are sent to a provider, and paid for.
export const BILLED_ENDPOINTS = ['chat.completions', 'messages', 'responses', 'embeddings'] as const

export const ENDPOINTS = [
  ...BILLED_ENDPOINTS,
  'chat.completions.quote',
  'messages.count_tokens',
  'models',
  'key.introspect',
  'usage',
  'unknown',
] as const
export type Endpoint = (typeof ENDPOINTS)[number]

export function isBilled(endpoint: unknown): boolean {
  return (BILLED_ENDPOINTS as readonly unknown[]).includes(endpoint)
}

export const ROW_STATES = ['open', 'settled', 'recovered'] as const
export type RowState = (typeof ROW_STATES)[number]
export const OUTCOMES = [
  'completed',
  'client_left',
  'upstream_failed',
  'upstream_broke',
  'refused',
  'recovered',
] as const
export type Outcome = (typeof OUTCOMES)[number]
export const USAGE_SOURCES = ['upstream', 'estimate', 'none'] as const
export type UsageSource = (typeof USAGE_SOURCES)[number]

export type Attempt = {
  readonly provider: string
  readonly model: string
  readonly outcome: string
  readonly status: number | null
  readonly ms: number
}

// What is known about a request when it reaches its reservation.
export type RequestFacts = {
  readonly requestId: string
  readonly clientRequestId: string | null
  readonly accountId: string
  readonly keyId: string
  readonly secretLast4: string
  readonly endpoint: Endpoint
  readonly clientIp: string
  readonly createdAt: number
  // JSON, as `writeTags` makes it.
  readonly tags: string | null
}

export type UsageRow = RequestFacts & {
  readonly modelRequested: string | null
  readonly modelServed: string | null
  readonly provider: string | null
  readonly attempts: readonly Attempt[]
  // The candidates in order, with reasons: for operators.
  readonly routing: readonly Considered[]
  readonly stream: boolean
  readonly state: RowState
  readonly outcome: Outcome | null
  readonly httpStatus: number | null
  readonly errorCode: string | null
  readonly errorMessage: string | null
  // JSON of its figures.
  readonly errorDetail: string | null
  readonly finishReason: string | null
  readonly tokens: Tokens
  readonly usageSource: UsageSource
  readonly priceVersion: string | null
  // JSON of the prices, as `priceSnapshot` makes it.
  readonly price: string | null
  readonly hold: Nano
  readonly cost: Nano
  readonly upstreamCost: Nano | null
  readonly firstByteAt: number | null
  readonly finishedAt: number | null
  readonly upstreamId: string | null
  // More than one where refusals of a key exceeded the rate for separate rows.
  readonly requests: number
}

export const MODEL_NAME_MAX = 256
export const CLIENT_REQUEST_ID_MAX = 128

// External strings are stored truncated, well-formed and without NUL, so that no row can break its batch.
export function storable(text: string, max: number): string {
  const cut = text.length > max ? text.slice(0, max) : text
  return cut.toWellFormed().replaceAll('\u0000', '\ufffd')
}

// The hours of usage roll-ups, and request durations as counts in fixed logarithmic buckets: enough for a median or a 95th
// percentile over any range of hours.
export const HOUR_MS = 3_600_000
export const DAY_HOURS = DAY_MS / HOUR_MS
// The steps of a series.
export const STEP_MS = { minute: 60_000, hour: HOUR_MS, day: DAY_MS } as const

export function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS)
}

// Each bucket ends a tenth above its start: a percentile is off by at most a twentieth. The last bucket takes the rest.
const BUCKET_GROWTH = 1.1
const BUCKET_LAST = 200

export function bucketOf(ms: number): number {
  if (ms < 1) return 0
  return Math.min(Math.floor(Math.log(ms) / Math.log(BUCKET_GROWTH)) + 1, BUCKET_LAST)
}

// The middle of the bucket, in whole milliseconds.
function bucketMs(bucket: number): number {
  return bucket === 0 ? 0 : Math.round(BUCKET_GROWTH ** (bucket - 0.5))
}

// The number of requests per bucket.
export type Durations = Map<number, number>

export function addDuration(durations: Durations, bucket: number, requests: number): void {
  durations.set(bucket, (durations.get(bucket) ?? 0) + requests)
}

// Null if nothing was timed.
export function percentileMs(durations: ReadonlyMap<number, number>, part: number): number | null {
  let total = 0
  for (const requests of durations.values()) total += requests
  let left = Math.ceil(total * part)
  for (const bucket of [...durations.keys()].sort((a, b) => a - b)) {
    left -= durations.get(bucket) ?? 0
    if (left <= 0) return bucketMs(bucket)
  }
  return null
}
