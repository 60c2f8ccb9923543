// The event loop's work for a request with the maximum members, or the maximum bytes: each step with its CPU time,
// written as JSON. Run as a separate process, in which nothing else happens.
import { parseChat } from '../../src/chat/parse-request.ts'
import { surelyExceeds } from '../../src/domain/prompt.ts'
import { Refusal } from '../../src/domain/refusal.ts'
import { parseJsonObject } from '../../src/http/json-body.ts'

export type Took = Readonly<Record<string, Readonly<Record<string, number>>>>

const MEMBERS = 49_990
const BODY_BYTES = 16 * 2 ** 20 - 4096
const RUNS_MAX = 8
const QUICK_MS = 40

const plain = { model: 'm', messages: [{ role: 'user', content: 'x' }] }

const MANY: Readonly<Record<string, () => object>> = {
  metadata: () => ({ ...plain, metadata: record('x') }),
  'metadata of nulls': () => ({ ...plain, metadata: record(null) }),
  'metadata of wrong values': () => ({ ...plain, metadata: record(1) }),
  'metadata with a wrong value at its end': () => ({ ...plain, metadata: { ...record('x'), z: 1 } }),
  logit_bias: () => ({ ...plain, logit_bias: record(1) }),
  'logit_bias of wrong values': () => ({ ...plain, logit_bias: record('x') }),
  'unknown fields': () => ({ ...plain, ...record(1) }),
  'unknown fields with objects': () => ({ ...plain, ...record({}) }),
  'nested unknown fields': () => ({ ...plain, x: record(1) }),
  'null fields': () => ({ ...plain, ...record(null) }),
  'unknown fields of a message': () => said({ content: 'x', ...record(1) }),
  'null fields of a message': () => said({ content: 'x', ...record(null) }),
  'unknown fields of a part': () => said({ content: [{ type: 'text', text: 'x', ...record(1) }] }),
  'unknown fields of a cache mark': () =>
    said({ content: [{ type: 'text', text: 'x', cache_control: { type: 'e', ...record(1) } }] }),
  'null fields of an image': () =>
    said({ content: [{ type: 'image_url', image_url: { url: 'data:x', ...record(null) } }] }),
  provider: () => ({ ...plain, provider: record(1) }),
  'provider of nulls': () => ({ ...plain, provider: record(null) }),
  stream_options: () => ({ ...plain, stream_options: record(1) }),
  'fields of a tool': () => ({ ...plain, tools: [{ type: 'function', function: { name: 'a' }, ...record(1) }] }),
  'parameters of a tool': () => ({
    ...plain,
    tools: [{ type: 'function', function: { name: 'a', parameters: record(1) } }],
  }),
  'wrong stops': () => ({ ...plain, stop: Array(MEMBERS).fill(1) }),
  'wrong tools': () => ({ ...plain, tools: Array(MEMBERS).fill(1) }),
  'too many tools': () => ({ ...plain, tools: Array(16_000).fill({ type: 'function', function: { name: 'f' } }) }),
  'too many messages': () => ({ model: 'm', messages: Array(MEMBERS - 10).fill({ role: 'user' }) }),
  'wrong messages': () => ({ model: 'm', messages: Array(MEMBERS).fill(1) }),
  'wrong parts': () => said({ content: Array(MEMBERS).fill(1) }),
  'a wrong part at the end': () => said({ content: [...Array(24_000).fill({ type: 'text', text: 'x' }), 1] }),
  parts: () => said({ content: Array(24_900).fill({ type: 'text', text: 'x' }) }),
  'parts with nulls': () => said({ content: Array(16_600).fill({ type: 'text', text: 'x', cache_control: null }) }),
  pictures: () => said({ content: Array(24_900).fill({ type: 'image_url', image_url: { url: 'data:x' } }) }),
}

const LARGE: Readonly<Record<string, () => string>> = {
  'an image': () => `[{"type":"image_url","image_url":{"url":"data:image/png;base64,${row('QUJD')}"}}]`,
  'a file': () => `[{"type":"file","file":{"file_data":"${row('QUJD')}"}}]`,
  text: () => `"${row('The quick brown fox. ')}"`,
  'escaped line ends': () => `"${row('The quick brown fox.\\n')}"`,
  'escaped quotes': () => `"${row('\\"')}"`,
  'escaped letters': () => `"${row('\\u0041')}"`,
  'escaped control characters': () => `"${row('\\u0001')}"`,
  'lone surrogates': () => `"${row('\\ud800')}"`,
  'three-byte characters': () => `"${row('漢')}"`,
  emoji: () => `"${row('😀')}"`,
  parts: () =>
    `[${Array(24_900)
      .fill(`{"type":"text","text":"${row('The quick brown fox. ', BODY_BYTES / 24_900 - 40)}"}`)
      .join()}]`,
  messages: () =>
    Array(2048)
      .fill(`"${row('The quick brown fox. ', BODY_BYTES / 2048 - 40)}"`)
      .join('},{"role":"user","content":'),
}

function record(value: unknown): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: MEMBERS }, (_, i) => [`k${i}`, value]))
}

function said(fields: object): object {
  return { model: 'm', messages: [{ role: 'user', ...fields }] }
}

function row(characters: string, bytes = BODY_BYTES): string {
  return characters.repeat(Math.floor(bytes / Buffer.byteLength(characters)))
}

// The steps of a request, as divided by the event loop.
function work(bytes: Buffer, step: (name: string, done: () => void) => void): void {
  let body: Record<string, unknown> = {}
  let chat: ReturnType<typeof parseChat> | undefined
  // A reference for the current speed of the machine.
  step('bare', () => JSON.parse(bytes.toString()))
  step('parse', () => {
    body = parseJsonObject(bytes, 32, 'kept')
  })
  step('check', () => {
    try {
      chat = parseChat(body)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
    }
  })
  step('send', () => {
    if (chat === undefined) return
    surelyExceeds(chat, 1_000_000)
    Buffer.from(`${JSON.stringify(chat.forwarded)}${chat.messagesJson}`)
  })
}

// The minimum of several runs, because others use the machine too.
function leastOf(bytes: Buffer): Readonly<Record<string, number>> {
  const least: Record<string, number> = {}
  for (let run = 0; run < RUNS_MAX && (run < 1 || Object.values(least).some(cpuMs => cpuMs > QUICK_MS)); run++) {
    work(bytes, (name, done) => {
      const before = process.threadCpuUsage()
      done()
      const { user, system } = process.threadCpuUsage(before)
      least[name] = Math.min(least[name] ?? Number.POSITIVE_INFINITY, (user + system) / 1000)
    })
  }
  return least
}

if (import.meta.main) {
  const many = Object.entries(MANY).map(([name, make]) => [name, leastOf(Buffer.from(JSON.stringify(make())))])
  const large = Object.entries(LARGE).map(([name, make]) => [
    name,
    leastOf(Buffer.from(`{"model":"m","messages":[{"role":"user","content":${make()}}]}`)),
  ])
  process.stdout.write(JSON.stringify({ many: Object.fromEntries(many), large: Object.fromEntries(large) }))
}
