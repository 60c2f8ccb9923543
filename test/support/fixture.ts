// One gateway in front of one scripted upstream for all tests of a file; after the last of them the ledger must balance.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { standardConfig } from './standard-config.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { settledRow } from './usage.ts'

export type Fixture = { readonly gateway: Gateway; readonly upstream: Upstream }

// Call it once, at the top of a file.
export async function openFixture(
  config: (upstreamUrl: string) => object = standardConfig,
  options: Omit<GatewayOptions, 'config'> = {},
): Promise<Fixture> {
  const upstream = await startUpstream()
  const gateway = await startGateway({ ...options, config: config(upstream.url) })
  after(async () => {
    const { ok, output } = await gateway.audit()
    await gateway[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
    assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
  })
  return { gateway, upstream }
}

// The first estimate loads the encoding, which on a busy machine takes longer than an estimate may: after this it is
// loaded.
export async function warmTokenizer({ gateway, upstream }: Fixture): Promise<void> {
  for (let tries = 0; tries < 30; tries++) {
    upstream.next({ usage: 'none' })
    const { headers } = await gateway.chat({ messages: [{ role: 'user', content: 'Hello' }] })
    const { prompt_tokens: counted } = await settledRow(gateway, headers['x-request-id'])
    upstream.journal.length = 0
    // One token and the framing of a message; half of the bytes would be more.
    if (counted === 1 + 4 + 3) return
  }
  throw new Error('the tokenizer does not get ready')
}
