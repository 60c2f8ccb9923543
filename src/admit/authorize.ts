// What a key may do: from which address, with which account, at which endpoint, with which scope.
import type { Call } from '../domain/handoff.ts'
import type { AuthenticatedKey, Key, Scope } from '../domain/key.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Endpoint } from '../domain/usage.ts'
import { parseCidrs } from '../lib/ip-address.ts'
import { memoize } from '../lib/memoize.ts'

export type EndpointRule = {
  readonly endpoint: Endpoint
  readonly method: 'GET' | 'POST'
  // null for any valid key: every rule has to state its scope, so that none is forgotten.
  readonly scope: Scope | null
  readonly evenIfSuspended: boolean
}

// `rule` is undefined for an unknown path.
export function authorize(call: Call, caller: AuthenticatedKey, rule: EndpointRule | undefined): EndpointRule {
  const allowlist = allowlistOf(caller.key)
  // Also for a key without an allowlist: its rows and failures could not be attributed to an address.
  if (call.address === undefined)
    throw new Refusal('ip_not_allowed', { message: 'The client address in X-Forwarded-For is invalid.' })
  if (!allowlist.isEmpty && !allowlist.has(call.address)) throw new Refusal('ip_not_allowed')
  if (caller.account.status === 'suspended' && rule?.evenIfSuspended !== true) throw new Refusal('account_suspended')
  if (rule === undefined) throw new Refusal('not_found', { message: unknownPath(call.path) })
  if (call.method !== rule.method) {
    throw new Refusal('method_not_allowed', {
      message: `Use ${rule.method} for this endpoint, not ${/^[A-Z-]{1,20}$/.test(call.method) ? call.method : 'this method'}.`,
      headers: { Allow: rule.method },
    })
  }
  if (rule.scope !== null && !caller.key.scopes.includes(rule.scope)) {
    throw new Refusal('insufficient_scope', {
      message: `This key does not have the scope ${rule.scope}.`,
      metadata: { required_scope: rule.scope },
    })
  }
  return rule
}

// Clients of a stateful Responses API read, cancel and delete what it stored.
function unknownPath(path: string): string {
  if (path.startsWith('/v1/v1/')) return TWICE
  return path.startsWith('/v1/responses/') ? NOT_STORED : UNKNOWN_PATH
}

const TWICE =
  'Unknown path: /v1 twice. The client adds it, as those of Anthropic do: set the base URL to the gateway without /v1.'

const NOT_STORED =
  'Responses are not stored: they cannot be read, listed, cancelled, compacted or deleted later. Read the answer of POST /v1/responses.'
const UNKNOWN_PATH =
  'Unknown path. Offered: POST /v1/chat/completions, POST /v1/chat/completions/quote, POST /v1/messages, ' +
  'POST /v1/messages/count_tokens, POST /v1/responses, POST /v1/embeddings, GET /v1/models, GET /v1/key/introspect, GET /v1/usage.'

// Most keys have none, and share one set: thousands of keys would have two native lists each.
const allowlistOf = (key: Key) => (key.ipAllowlist.length === 0 ? NO_ALLOWLIST : parsedAllowlist(key))
const NO_ALLOWLIST = parseCidrs([])
const parsedAllowlist = memoize((key: Key) => parseCidrs(key.ipAllowlist))
