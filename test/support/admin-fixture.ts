// The admin API over real HTTP on its own store, and what it told the rest of the gateway to forget or end.
import assert from 'node:assert/strict'
import { createHash, randomBytes, randomUUIDv7 } from 'node:crypto'
import { fastify } from 'fastify'
import { accountMethods } from '../../src/admin/accounts.ts'
import { eventMethods } from '../../src/admin/events.ts'
import { keyMethods } from '../../src/admin/keys.ts'
import { nodeMethods } from '../../src/admin/nodes.ts'
import { operatorMethods } from '../../src/admin/operators.ts'
import { playgroundMethod } from '../../src/admin/playground.ts'
import { reportMethods } from '../../src/admin/reports.ts'
import { searchMethod } from '../../src/admin/search.ts'
import { sessionMethods, sessionsOf } from '../../src/admin/sessions.ts'
import { webhookMethods } from '../../src/admin/webhooks.ts'
import { NO_FILE } from '../../src/config/file.ts'
import { BOUNDS } from '../../src/config/limits.ts'
import { priceSnapshot } from '../../src/domain/catalog.ts'
import { adminApi } from '../../src/http/admin/admin-api.ts'
import { sessionCookies } from '../../src/http/admin/guard.ts'
import { encryptionWith } from '../../src/lib/encryption.ts'
import { catalogMethods } from '../../src/server/wire-admin-api.ts'
import { idAt } from '../../src/store/sql/time-order.ts'
import { newWebhookSecret } from '../../src/webhooks/signature.ts'
import { ENGINES, openRepositories } from './engines.ts'

export const TOKEN = 'admin-token-of-this-test'
export const PRICE = priceSnapshot({ prompt: 1n, completion: 2n, cacheRead: 3n, cacheWrite: 4n, request: 5n })

// A credit is a cent here, and the markup is 25 %.
const EXCHANGE = { creditsPerUsd: 100_000_000n, markup: 1_250_000n }
const HEALTH = {
  targets: [
    {
      model: 'm1',
      state: 'closed' as const,
      status: 'healthy' as const,
      recent: { requests: 9, failures: 1, firstByteMs: 12.34 },
      successRate: 0.5,
      firstByteMs: 12.5,
      inFlight: 1,
      requests: 4,
      failures: 2,
      openUntil: null,
    },
  ],
  credentials: [],
}

export async function openAdminFixture() {
  const repositories = await openRepositories(ENGINES[0]!.open)
  const forgotten: string[] = []
  const forgottenAccounts: string[] = []
  const aborted: string[] = []
  const refreshed: number[] = []
  const money = { exchange: EXCHANGE }
  const encryption = encryptionWith(randomBytes(32), 'credentials')
  const newId = () => randomUUIDv7()
  const sessions = sessionMethods({ sessions: repositories.sessions, sessionsPerOperatorMax: 3, newId, randomBytes })
  await repositories.operators.setRoot(createHash('sha256').update(TOKEN).digest('hex'))
  const app = fastify({ genReqId: newId, exposeHeadRoutes: false })
  sessionCookies(app)
  const keys = keyMethods({
    keys: repositories.keys,
    clock: repositories.clock,
    brand: { keyPrefix: 'svc_live_' },
    defaults: NO_FILE.defaults,
    defaultAccountId: () => undefined,
    newId,
    randomBytes,
    forget: id => void forgotten.push(id),
    onKeyChanged: () => undefined,
    abortStreams: id => void aborted.push(id),
  })
  adminApi(app, {
    clock: repositories.clock,
    hasBegun: () => true,
    operatorsOf: repositories.operators.bearers,
    sessionsOf: sessionsOf(repositories.sessions),
    touchSession: repositories.sessions.touch,
    cameByTls: request => request.headers['x-forwarded-proto'] === 'https',
    addressOf: request => request.ip,
    jsonDepthMax: 32,
    keys,
    playgroundKey: playgroundMethod({ keys, clock: repositories.clock }),
    accounts: accountMethods({
      accounts: repositories.accounts,
      newId,
      forgetAccount: id => void forgottenAccounts.push(id),
    }),
    webhooks: webhookMethods({
      webhooks: repositories.webhooks,
      webhooksMax: 5,
      newId,
      newSecret: () => newWebhookSecret(randomBytes),
      encrypt: (secret, id) => encryption.encrypt(secret, [id]),
      checkAddress: async () => undefined,
      sendSample: async () => ({ status: 200, error: null, durationMs: 3 }),
      wake: () => undefined,
    }),
    search: searchMethod({
      finder: repositories.finder,
      usage: repositories.usage,
      models: () => [{ id: 'acme/m1', name: 'Acme One', aliases: ['one'] }],
    }),
    nodes: nodeMethods({ nodes: { list: async () => [] } }),
    reports: reportMethods({
      usage: repositories.usage,
      clock: repositories.clock,
      standing: {
        targets: () => ({ targets: [], credentials: [] }),
        others: async () => ({ nearLimits: await repositories.gauges.nearLimits(20), webhooks: [] }),
      },
      reportRowsMax: BOUNDS.reportRowsMax,
    }),
    events: eventMethods({ events: repositories.events }),
    operators: operatorMethods({ operators: repositories.operators, operatorsMax: 5, newId, randomBytes }),
    sessions,
    portal: undefined,
    settings: () => assert.fail('not used here'),
    catalog: catalogMethods({
      catalog: repositories.catalog,
      catalogService: {
        encryption,
        exchange: () => money.exchange,
        credentialsOf: () => [],
        refresh: async () => void refreshed.push(repositories.clock.now()),
        apply: () => assert.fail('there is no file here'),
      },
      config: { allowPrivateUpstreams: false, bounds: BOUNDS },
      healthOf: () => HEALTH,
      test: async () => ({ credentialId: null, ms: 5, failure: undefined }),
      newId,
      clock: repositories.clock,
    }),
    onBug: error => assert.fail(String(error)),
  })
  const base = await app.listen({ port: 0, host: '127.0.0.1' })

  return {
    repositories,
    forgotten,
    forgottenAccounts,
    aborted,
    refreshed,
    money,
    encryption,
    base,
    async call(method: string, path: string, body?: unknown, headers: Record<string, string | undefined> = {}) {
      const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
      const type = body === undefined ? {} : { 'content-type': 'application/json' }
      const response = await fetch(`${base}/admin/v1${path}`, {
        method,
        ...sent,
        headers: defined({ authorization: `Bearer ${TOKEN}`, ...type, ...headers }),
      })
      const text = await response.text()
      const isJson = text !== '' && response.headers.get('content-type')?.includes('json')
      assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
      return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined }
    },
    async addUsage(at: number, model: string) {
      const id = idAt(at)
      await repositories.sql.run(
        `INSERT INTO usage (request_id, account_id, key_id, secret_last4, endpoint, model_requested, stream, state, outcome,
           cost, price, created_at, client_ip)
         VALUES ($1, 'acct_1', 'key_1', 'abcd', 'chat.completions', $2, 0, 'settled', 'completed', 7, $3, $4, '192.0.2.1')`,
        [id, model, PRICE, at],
      )
      return id
    },
    async [Symbol.asyncDispose]() {
      await app.close()
      await repositories[Symbol.asyncDispose]()
    },
  }
}

// A header that is undefined is not sent.
function defined(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter((each): each is [string, string] => each[1] !== undefined))
}
