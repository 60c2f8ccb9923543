// One gateway in front of one scripted upstream for all tests of a file; after the last of them the books must balance.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { standardConfig } from './standard-config.ts'
import { startUpstream, type Upstream } from './upstream.ts'

export type Scene = { readonly gateway: Gateway; readonly upstream: Upstream }

// To be called once, at the top of a file.
export async function openScene(
  config: (upstreamUrl: string) => object = standardConfig,
  options: Omit<GatewayOptions, 'config'> = {},
): Promise<Scene> {
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
