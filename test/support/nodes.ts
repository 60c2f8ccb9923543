// Several gateways on one Postgres: one installation, its nodes started at once. At its end the ledger must balance.
import assert from 'node:assert/strict'
import { ENCRYPTION_KEY, type Gateway, type GatewayOptions, startGateway } from './gateway.ts'
import { freshSchema } from './postgres.ts'

export type Nodes = AsyncDisposable & {
  readonly url: string
  // The environment of a node of this installation.
  readonly env: Readonly<Record<string, string | undefined>>
  readonly all: readonly Gateway[]
  // One more.
  start(options?: GatewayOptions): Promise<Gateway>
}

export async function startNodes(count: number, options: GatewayOptions = {}): Promise<Nodes> {
  const schema = await freshSchema()
  const env = { DATABASE_URL: schema.url, TURNPIKE_ENCRYPTION_KEY: ENCRYPTION_KEY, ...options.env }
  const all: Gateway[] = []
  const start = async (more: GatewayOptions = {}) => {
    const node = await startGateway({ ...options, readyTimeoutMs: 60_000, ...more, env: { ...env, ...more.env } })
    all.push(node)
    return node
  }
  const started = await Promise.allSettled(Array.from({ length: count }, () => start()))
  const failed = started.find(each => each.status === 'rejected')
  if (failed !== undefined) {
    await Promise.all(all.map(node => node[Symbol.asyncDispose]()))
    await schema[Symbol.asyncDispose]()
    throw failed.reason
  }
  return {
    url: schema.url,
    env,
    all,
    start,
    async [Symbol.asyncDispose]() {
      const report = await all[0]?.audit()
      await Promise.all(all.map(node => node[Symbol.asyncDispose]()))
      await schema[Symbol.asyncDispose]()
      assert.ok(report?.ok ?? true, `the audit found: ${JSON.stringify(report?.output)}`)
    },
  }
}
