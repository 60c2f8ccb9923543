// The fixture for every real client: the gateway in front of the scripted upstream, a key, a fetch that counts, and a
// tool for the model to call.
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { type Gateway, standardConfig, startGateway } from './gateway.ts'
import type { Loose } from './http-call.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import type { JournalEntry } from './upstream-journal.ts'

export const MODEL = 'test/m1'
export const TEXT = 'Hello there, how can I help you today?'
export const WRONG_KEY = `svc_live_${'x'.repeat(43)}`

// A tool in OpenAI's format, the turns of a model that uses it, and their result.
const call = { id: 'call_weather_1', name: 'weather', arguments: '{"city":"Oslo"}' }
const result = '{"sky":"clear"}'
export const WEATHER = {
  tool: {
    name: call.name,
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  call,
  result,
  turns: [{ toolCalls: [call] }, { words: ['Clear', ' in', ' Oslo'] }] as const,
  text: 'Clear in Oslo',
  // The tool and its result reached the upstream in OpenAI's format, whatever the client calls them.
  assertTurns({ journal }: Upstream): void {
    const [first, second] = journal.map(entry => entry.body as { tools?: unknown[]; messages: object[] })
    assert.equal(first?.tools?.length, 1)
    assert.deepEqual(second?.messages.at(-1), { role: 'tool', tool_call_id: call.id, content: result })
  },
}

export type ClientFixture = {
  readonly gateway: Gateway
  readonly upstream: Upstream
  // The base URL for an SDK.
  readonly baseUrl: string
  readonly key: string
  // A key whose next request is refused: its daily limit of one is exhausted, or its bucket is empty for a minute.
  spentKey(limit: 'daily' | 'rpm'): Promise<string>
  // What a script of another language needs, besides the base URL.
  scriptInput(): Promise<object>
  // The settled row of a request of the fixture's key.
  row(requestId: string | null | undefined): Promise<Loose>
  [Symbol.asyncDispose](): Promise<void>
}

export async function openClientFixture(config: (url: string) => object = standardConfig): Promise<ClientFixture> {
  const upstream = await startUpstream()
  const gateway = await startGateway({ config: config(upstream.url) })
  const { secret: key } = await gateway.createKey()

  async function spentKey(limit: 'daily' | 'rpm'): Promise<string> {
    if (limit === 'daily') await awayFromMidnight()
    const { secret } = await gateway.createKey(limit === 'daily' ? { daily_limit: 1 } : { rpm_limit: 1 })
    await gateway.get('/v1/models', secret)
    return secret
  }

  return {
    gateway,
    upstream,
    baseUrl: `${gateway.url}/v1`,
    key,
    spentKey,
    async scriptInput() {
      const keys = { key, wrong_key: WRONG_KEY, spent_key: await spentKey('daily') }
      return { ...keys, model: MODEL, tool: WEATHER.tool, tool_result: WEATHER.result }
    },
    async row(requestId) {
      const { status, body } = await gateway.get(`/v1/usage/${requestId}`, key)
      if (status !== 200) throw new Error(`no usage row for ${requestId}: ${JSON.stringify(body)}`)
      return body
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    },
  }
}

// The error of a rejected promise; a resolved promise is a failure.
export async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  return Promise.resolve(promise).then(
    () => assert.fail('it should have failed'),
    error => error,
  )
}

// A daily limit that resets within a minute is not a long wait, and clients would wait for it.
async function awayFromMidnight(): Promise<void> {
  const left = DAY_MS - (Date.now() % DAY_MS)
  if (left < 75_000) await setTimeout(left + 1_000)
}
const DAY_MS = 86_400_000

// A fetch for SDKs that accept one: it records the status of every attempt and a copy of every answer's text.
export function countingFetch(): {
  readonly fetch: typeof globalThis.fetch
  readonly statuses: number[]
  readonly texts: Promise<string>[]
} {
  const statuses: number[] = []
  const texts: Promise<string>[] = []
  return {
    statuses,
    texts,
    async fetch(input, init) {
      const response = await fetch(input, init)
      statuses.push(response.status)
      texts.push(response.clone().text())
      return response
    },
  }
}

// A model that calls the tool once it is offered, and answers once it has the result.
export function weatherman({ body }: JournalEntry) {
  const { tools, messages } = body as { tools?: unknown; messages: { role: string }[] }
  if (tools === undefined) return {}
  return WEATHER.turns[messages.at(-1)?.role === 'tool' ? 1 : 0]
}
