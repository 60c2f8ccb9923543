// Generates usage rows like those of a gateway with some customers: the same rows for the same seed, over a number of days,
// growing slowly, with fewer rows at night and at weekends, and with a few dominant customers and models.
import { priceSnapshot } from '../src/domain/catalog.ts'
import { costOf, type Nano, NO_TOKENS, type Prices, type Tokens } from '../src/domain/credits.ts'
import { DAY_MS } from '../src/domain/key.ts'
import type { Param } from '../src/store/sql/sql.ts'
import { timePrefix } from '../src/store/sql/time-order.ts'

export type SeedPlan = { readonly rows: number; readonly days: number; readonly until: number; readonly seed: number }
export type SeedRow = Readonly<Record<(typeof SEED_COLUMNS)[number], Param>> & {
  readonly request_id: string
  readonly account_id: string
  readonly key_id: string
  readonly created_at: number
  readonly cost: Nano
}

export const SEED_COLUMNS = [
  'request_id',
  'account_id',
  'key_id',
  'secret_last4',
  'endpoint',
  'model_requested',
  'model_served',
  'provider',
  'attempts',
  'stream',
  'state',
  'outcome',
  'http_status',
  'error_code',
  'finish_reason',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'usage_source',
  'price_version',
  'price',
  'hold',
  'cost',
  'upstream_cost',
  'created_at',
  'first_byte_at',
  'finished_at',
  'client_ip',
] as const

const ACCOUNTS = 12
const KEYS = 40
const MODELS = [
  'acme/large',
  'acme/small',
  'acme/tiny',
  'bolt/pro',
  'bolt/mini',
  'cedar/long',
  'cedar/short',
  'demo/echo',
]
const PROVIDERS = ['acme', 'bolt', 'cedar']
// Rarely used, so that a filter on it has to search far.
const RARE_PROVIDER = 'spare'

export const SEED_ACCOUNTS = Array.from({ length: ACCOUNTS }, (_, i) => `acct_seed${String(i).padStart(4, '0')}`)
export const SEED_KEYS = Array.from({ length: KEYS }, (_, i) => ({
  id: `key_seed${String(i).padStart(4, '0')}`,
  accountId: SEED_ACCOUNTS[i % ACCOUNTS] as string,
}))

export const SEED_PRICE_VERSION = 'seed'

const PRICES: readonly { readonly prices: Prices; readonly snapshot: string }[] = MODELS.map((_, i) => {
  const [prompt, completion] = [150_000n * BigInt(i + 1), 600_000n * BigInt(i + 1)]
  const prices = { prompt, completion, cacheRead: prompt / 2n, cacheWrite: prompt, request: 0n }
  return { prices, snapshot: priceSnapshot(prices) }
})

// The price history that these rows need.
export const SEED_PRICES = MODELS.map((model, i) => ({ model, price: PRICES[i]?.snapshot ?? '' }))

export function* seedRows({ rows, days, until, seed }: SeedPlan): Generator<SeedRow> {
  const random = chance(seed)
  const weights = Array.from({ length: days }, (_, day) => weightOf(until - (days - day) * DAY_MS, day / days))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let [day, before] = [0, 0]
  for (let i = 0; i < rows; i++) {
    const position = (i / rows) * total
    while (day < days - 1 && position >= before + (weights[day] ?? 0)) before += weights[day++] ?? 0
    const within = Math.min((position - before) / (weights[day] ?? 1), 1)
    // Slow at night: the sine shifts rows towards noon.
    const at = Math.floor(until - (days - day - within + Math.sin(within * 2 * Math.PI) / 9) * DAY_MS)
    yield seedRow(Math.min(at, until - 1), random)
  }
}

// How busy the day that starts at this time is.
function weightOf(at: number, age: number): number {
  const weekday = new Date(at).getUTCDay()
  const wave = 1 + 0.08 * Math.sin(at / DAY_MS)
  return (0.75 + 0.25 * age) * wave * (weekday === 0 || weekday === 6 ? 0.6 : 1)
}

function seedRow(at: number, random: () => number): SeedRow {
  const key = SEED_KEYS[few(KEYS, random)] as (typeof SEED_KEYS)[number]
  const facts = {
    request_id: idOf(at, random),
    account_id: key.accountId,
    key_id: key.id,
    secret_last4: 'seed',
    stream: random() < 0.6 ? 1 : 0,
    created_at: at,
    client_ip: `192.0.2.${Math.floor(random() * 250)}`,
  }
  const kind = random()
  if (kind < 0.05) return { ...FREE, ...facts, endpoint: 'models', finished_at: at }
  if (kind < 0.08) return { ...FREE, ...facts, endpoint: 'key.introspect', finished_at: at }
  return { ...FREE, ...facts, ...chat(at, random) }
}

function chat(at: number, random: () => number) {
  const number = few(MODELS.length, random)
  const model = MODELS[number] as string
  const { prices, snapshot } = PRICES[number] as (typeof PRICES)[number]
  const luck = random()
  const took = Math.floor(200 + 4000 * random() ** 3 + (random() < 0.02 ? 20_000 * random() : 0))
  const asked = { model_requested: model, finished_at: at + took }
  if (luck < 0.002)
    return { ...asked, outcome: 'refused', http_status: 429, error_code: 'rate_limit_exceeded', finished_at: at }
  if (luck < 0.006)
    return { ...asked, outcome: 'refused', http_status: 402, error_code: 'insufficient_credits', finished_at: at }
  if (luck < 0.008) {
    const named = `nobody/${Math.floor(random() * 1e6)}`
    return { ...asked, model_requested: named, outcome: 'refused', http_status: 404, error_code: 'model_not_found' }
  }
  const provider = random() < 0.0001 ? RARE_PROVIDER : (PROVIDERS[number % PROVIDERS.length] as string)
  // Some need a second attempt.
  const tried = took % 29 === 0 ? [RARE_PROVIDER, provider] : [provider]
  const attempts = JSON.stringify(tried.map((each, at) => attemptAt(each, model, at === tried.length - 1)))
  const priced = { price_version: SEED_PRICE_VERSION, price: snapshot }
  const served = { ...asked, ...priced, model_served: model, provider, attempts }
  if (luck < 0.015) {
    return { ...served, outcome: 'upstream_failed', http_status: 502, error_code: 'all_providers_failed', hold: 1000n }
  }
  const prompt = Math.floor(50 + 3000 * random() ** 2)
  const tokens: Tokens = {
    ...NO_TOKENS,
    prompt,
    cached: random() < 0.3 ? prompt >> 1 : 0,
    completion: Math.floor(10 + 900 * random()),
  }
  const cost = costOf(tokens, prices)
  return {
    ...served,
    ...(luck < 0.0155 ? { outcome: 'recovered', state: 'recovered', http_status: 0 } : {}),
    ...(luck >= 0.0155 && luck < 0.035 ? { outcome: 'client_left', finish_reason: null } : { finish_reason: 'stop' }),
    prompt_tokens: prompt,
    cached_tokens: tokens.cached,
    completion_tokens: tokens.completion,
    usage_source: 'upstream',
    hold: cost * 2n,
    cost,
    // Some targets state no cost.
    upstream_cost: took % 7 === 0 ? null : cost / 2n,
    first_byte_at: at + Math.floor(took / 3),
  }
}

function attemptAt(provider: string, model: string, isLast: boolean) {
  return { provider, model, outcome: isLast ? 'answered' : 'status', status: isLast ? 200 : 503, ms: 100 }
}

const FREE = {
  endpoint: 'chat.completions',
  model_requested: null,
  model_served: null,
  provider: null,
  attempts: null as string | null,
  state: 'settled',
  outcome: 'completed',
  http_status: 200,
  error_code: null,
  finish_reason: null,
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  usage_source: 'none',
  price_version: null,
  price: null,
  hold: 0n,
  cost: 0n,
  upstream_cost: null,
  first_byte_at: null,
  finished_at: null as number | null,
}

// The first ones far more often than the last.
function few(of: number, random: () => number): number {
  return Math.floor(of * random() ** 2.5)
}

function idOf(at: number, random: () => number): string {
  const hex = (digits: number) =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  return `${timePrefix(at)}-7${hex(3)}-8${hex(3)}-${hex(12)}`
}

// Mulberry32: small, and the same everywhere.
function chance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
