// What is wrong with the providers of a gateway: targets that are not called, and credentials that were rejected.
import type { Client, Json } from './http-client.ts'

export type ProviderState = {
  readonly id: string
  readonly targets: number
  // Models whose circuit breaker is open.
  readonly down: readonly string[]
  // Credentials that are not active, with their state.
  readonly credentials: readonly string[]
}

// The health of more providers is not read.
const PROVIDERS_MAX = 100
const AT_ONCE = 8

export async function providerStates(client: Client): Promise<readonly ProviderState[]> {
  const { data } = await client.call('GET', `/providers?limit=${PROVIDERS_MAX}`)
  const active = (data as readonly Json[]).filter(({ status }) => status === 'active')
  const states: ProviderState[] = []
  for (let at = 0; at < active.length; at += AT_ONCE)
    states.push(...(await Promise.all(active.slice(at, at + AT_ONCE).map(({ id }) => stateOf(String(id), client)))))
  return states
}

async function stateOf(id: string, client: Client): Promise<ProviderState> {
  const health = await client.call('GET', `/providers/${encodeURIComponent(id)}/health`)
  const targets = health.targets as readonly Json[]
  const credentials = health.credentials as readonly Json[]
  return {
    id,
    targets: targets.length,
    down: targets.filter(({ state }) => state === 'open').map(({ model }) => String(model)),
    credentials: credentials.filter(({ state }) => state !== 'active').map(each => `${each.id} (${each.state})`),
  }
}
