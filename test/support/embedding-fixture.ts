// The fixture for embeddings: a gateway in front of two vendors, with a caller. It is closed after the tests of its file, once the
// audit has found nothing.
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { type EmbeddingVendor, startEmbeddingVendor } from './embedding-vendor.ts'
import { type Gateway, type GatewayOptions, type NewKey, startGateway } from './gateway.ts'
import { type Answer, httpCall, type Loose } from './http-call.ts'

type List = {
  readonly data: readonly { readonly index: number; readonly embedding: number[] | string; readonly object: string }[]
  readonly usage: Loose
  readonly model: string
}

export type EmbeddingFixture = {
  readonly gateway: Gateway
  readonly vendor: EmbeddingVendor
  readonly other: EmbeddingVendor
  readonly caller: NewKey
  embed(body: object, more?: { readonly key?: string; readonly signal?: AbortSignal }): Promise<Answer<List & Loose>>
}

export async function openEmbeddingFixture(
  config: (vendor: string, other: string) => object,
  setup: GatewayOptions = {},
): Promise<EmbeddingFixture> {
  const vendor = await startEmbeddingVendor()
  const other = await startEmbeddingVendor()
  const gateway = await startGateway({ ...setup, config: config(vendor.origin, other.origin) })
  after(async () => {
    const { ok, output } = await gateway.audit()
    await gateway[Symbol.asyncDispose]()
    await vendor[Symbol.asyncDispose]()
    await other[Symbol.asyncDispose]()
    assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
  })
  const caller = await gateway.createKey({ credits: '1000' })
  return {
    gateway,
    vendor,
    other,
    caller,
    embed: (body, { key = caller.secret, signal } = {}) =>
      httpCall<List & Loose>(`${gateway.url}/v1/embeddings`, {
        body,
        headers: { authorization: `Bearer ${key}` },
        timeoutMs: 120_000,
        ...(signal === undefined ? {} : { signal }),
      }),
  }
}
