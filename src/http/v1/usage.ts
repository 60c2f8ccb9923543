// GET /v1/usage and /v1/usage/{request_id}: a key's own rows. After `[DONE]` a row is already exact here.
import type { EndpointRule } from '../../admit/authorize.ts'
import type { Pass } from '../../domain/handoff.ts'
import { Refusal } from '../../domain/refusal.ts'
import { readTagFilter, TAG_FILTERS_MAX } from '../../domain/tags.ts'
import { ENDPOINTS, type Endpoint, MODEL_NAME_MAX, type UsageRow } from '../../domain/usage.ts'
import { type UsageObject, usageObject } from '../../domain/usage-wire.ts'
import { parseIsoTime } from '../../domain/wire-time.ts'
import { type FairQueue, QueueFull } from '../../lib/fair-queue.ts'
import {
  PAGE_DEFAULT,
  PAGE_MAX,
  type TagPair,
  type UsageFilter,
  type UsageReports,
} from '../../store/contract/operator.ts'
import {
  below,
  exactly,
  type UnbilledHandler,
  type UnbilledNeeds,
  unbilledEndpoint,
  type V1Endpoint,
} from './endpoint.ts'

export type UsageNeeds = UnbilledNeeds & {
  readonly usage: UsageReports
  // Whether a key sees what its requests cost the operator.
  readonly showUpstreamCost: boolean
}

export type UsageListNeeds = UsageNeeds & {
  // Lists are read a few at a time, account by account.
  readonly lists: FairQueue<UsagePage>
  readonly usageRowsLookedAtMax: number
}
export type UsagePage = Awaited<ReturnType<UsageReports['list']>>

const rule: EndpointRule = { endpoint: 'usage', method: 'GET', scope: null, evenIfSuspended: false }
const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export function listUsage(needs: UsageListNeeds): V1Endpoint {
  const work: UnbilledHandler = async (_it, pass) => {
    const filter = { ...filterOf(pass), lookMax: needs.usageRowsLookedAtMax }
    const page = await needs.lists.run(pass.caller.account.id, () => needs.usage.list(filter)).catch(refuseIfFull)
    const { data, hasMore, next } = page
    const body = { object: 'list', data: data.map(row => seenBy(row, needs)), has_more: hasMore, next_after: next }
    return { status: 200, body: () => body }
  }
  return unbilledEndpoint(rule, exactly('/v1/usage'), work, needs)
}

export function oneUsage(needs: UsageNeeds): V1Endpoint {
  const work: UnbilledHandler = async (_it, pass, id) => {
    const row = REQUEST_ID.test(id) ? await needs.usage.get(id.toLowerCase(), pass.caller.key.id) : undefined
    if (row === undefined) throw new Refusal('not_found', { message: 'No request of this key has this id.' })
    return { status: 200, body: () => seenBy(row, needs) }
  }
  return unbilledEndpoint(rule, below('/v1/usage/'), work, needs)
}

function seenBy(row: UsageRow, { showUpstreamCost }: Pick<UsageNeeds, 'showUpstreamCost'>): UsageObject {
  const seen = usageObject(row)
  return showUpstreamCost ? seen : { ...seen, upstream_cost: null }
}

function refuseIfFull(error: unknown): never {
  if (!(error instanceof QueueFull)) throw error
  if (error.of === 'all') throw new Refusal('service_unavailable', { retryAfter: 1 })
  const message = 'Too many usage queries are running for this account; try again when one has finished.'
  throw new Refusal('concurrency_exceeded', { retryAfter: 1, message, metadata: { limit: 'usage_lists' } })
}

const PARAMS = ['limit', 'after', 'from', 'to', 'model', 'endpoint', 'tag'] as const

function filterOf(pass: Pass): UsageFilter {
  const given = new URLSearchParams(pass.call.query)
  for (const name of given.keys()) {
    if (!(PARAMS as readonly string[]).includes(name)) throw wrong(name, `must be one of ${PARAMS.join(', ')}`)
    if (given.getAll(name).length > (name === 'tag' ? TAG_FILTERS_MAX : 1)) throw wrong(name, 'must be given only once')
    if (given.getAll(name).some(value => /\p{Cc}/u.test(value)))
      throw wrong(name, 'must not contain control characters')
  }
  const text = (name: (typeof PARAMS)[number]) => given.get(name) ?? undefined
  return {
    limit: limitOf(text('limit')),
    after: afterOf(text('after')),
    from: timeOf('from', text('from')),
    to: timeOf('to', text('to')),
    model: modelOf(text('model')),
    endpoint: endpointOf(text('endpoint')),
    tags: given.has('tag') ? given.getAll('tag').map(tagOf) : undefined,
    keyId: pass.caller.key.id,
  }
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return PAGE_DEFAULT
  const limit = Number(text)
  if (!/^\d+$/.test(text) || limit < 1 || limit > PAGE_MAX)
    throw wrong('limit', `must be an integer from 1 to ${PAGE_MAX}`)
  return limit
}

function afterOf(text: string | undefined): string | undefined {
  if (text !== undefined && !REQUEST_ID.test(text)) throw wrong('after', 'must be a request id')
  return text?.toLowerCase()
}

function modelOf(text: string | undefined): string | undefined {
  if (text !== undefined && [...text].length > MODEL_NAME_MAX)
    throw wrong('model', `must have at most ${MODEL_NAME_MAX} characters`)
  return text
}

function tagOf(text: string): TagPair {
  const tag = readTagFilter(text)
  if (tag === undefined) throw wrong('tag', 'must be a tag such as team:search')
  return tag
}

function timeOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const at = parseIsoTime(text)
  if (at === undefined) throw wrong(name, 'must be an ISO 8601 time such as 2026-01-31T00:00:00Z')
  return at
}

function endpointOf(text: string | undefined): Endpoint | 'all' | undefined {
  if (text === undefined) return undefined
  if (text === 'all' || (ENDPOINTS as readonly string[]).includes(text)) return text as Endpoint | 'all'
  throw wrong('endpoint', `must be one of all, ${ENDPOINTS.join(', ')}`)
}

function wrong(param: string, what: string): Refusal {
  return new Refusal('invalid_value', { param, message: `${param} ${what}.` })
}
