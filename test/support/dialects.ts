// The dialects that callers speak, as a table: how each asks for the same, and how its answers, streams and errors are read. A
// promise that holds for all of them is tested over this table.
import { embeddingModel, standardModel, standardProvider } from './standard-config.ts'

type Fields = Readonly<Record<string, unknown>>

export type StreamReading = {
  readonly text: string
  // As digits, so that no float hides a difference; undefined where the stream has none.
  readonly cost: string | undefined
  // The code of an error inside the stream.
  readonly errorCode: string | undefined
  // Whether it ended as the dialect's streams end.
  readonly complete: boolean
}

export type Dialect = {
  readonly name: string
  readonly endpoint: string
  readonly path: string
  // The catalog's model that this row is served by.
  readonly model: string
  // One message of the user; `maxTokens` under the dialect's own name.
  body(words: string, more?: { readonly stream?: boolean; readonly maxTokens?: number }): Fields
  text(body: Fields): string
  // Prompt tokens in the meaning of the row, and completion tokens.
  counts(body: Fields): readonly [number, number]
  error(body: Fields): { readonly code: unknown; readonly type: unknown }
  stream(raw: string): StreamReading
  // The text of a silence that is filled.
  readonly keepAlive: string
}

const chat: Dialect = {
  name: 'chat',
  endpoint: 'chat.completions',
  path: '/v1/chat/completions',
  model: 'test/m1',
  body(words, { stream, maxTokens } = {}) {
    return {
      model: this.model,
      messages: [{ role: 'user', content: words }],
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
      ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
    }
  },
  text: body => (body.choices as [{ message: { content: string } }])[0].message.content,
  counts(body) {
    const usage = body.usage as Record<string, number>
    return [usage.prompt_tokens ?? 0, usage.completion_tokens ?? 0]
  },
  error: body => errorOf(body),
  stream(raw) {
    const frames = dataOf(raw)
      .filter(data => data !== '[DONE]')
      .map(parsed)
    const deltas = frames.flatMap(frame => frame.choices as { delta: { content?: string } }[])
    return {
      text: deltas.map(({ delta }) => delta.content ?? '').join(''),
      cost: costIn(raw),
      errorCode: codeIn(frames),
      complete: dataOf(raw).at(-1) === '[DONE]',
    }
  },
  keepAlive: ': keep-alive\n',
}

const messages: Dialect = {
  name: 'messages, translated',
  endpoint: 'messages',
  path: '/v1/messages',
  model: 'test/m1',
  body(words, { stream, maxTokens = 64 } = {}) {
    const content = [{ type: 'text', text: words }]
    return {
      model: this.model,
      max_tokens: maxTokens,
      messages: [{ role: 'user', content }],
      ...(stream ? { stream } : {}),
    }
  },
  text: body => (body.content as { text?: string }[]).map(({ text }) => text ?? '').join(''),
  counts(body) {
    const usage = body.usage as Record<string, number>
    const { input_tokens = 0, cache_read_input_tokens = 0, cache_creation_input_tokens = 0, output_tokens = 0 } = usage
    return [input_tokens + cache_read_input_tokens + cache_creation_input_tokens, output_tokens]
  },
  error: body => errorOf(body),
  stream(raw) {
    const events = dataOf(raw).map(parsed)
    return {
      text: events.map(event => (event.delta as { text?: string } | undefined)?.text ?? '').join(''),
      cost: costIn(raw),
      errorCode: codeIn(events),
      complete: ['message_stop', 'error'].includes(String(events.at(-1)?.type)),
    }
  },
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
}

// A provider that speaks the dialect gets the request as it is.
const passedThrough: Dialect = { ...messages, name: 'messages, passed through', model: 'test/claude' }

const responses: Dialect = {
  name: 'responses, translated',
  endpoint: 'responses',
  path: '/v1/responses',
  model: 'test/m1',
  body(words, { stream, maxTokens } = {}) {
    return {
      model: this.model,
      input: words,
      ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
      ...(stream ? { stream } : {}),
    }
  },
  text(body) {
    const items = body.output as { content?: { text?: string }[] }[]
    return items.flatMap(({ content = [] }) => content.map(({ text }) => text ?? '')).join('')
  },
  counts(body) {
    const usage = body.usage as Record<string, number>
    return [usage.input_tokens ?? 0, usage.output_tokens ?? 0]
  },
  error: body => errorOf(body),
  stream(raw) {
    const events = dataOf(raw).map(parsed)
    const last = events.at(-1)
    const { error } = (last?.response ?? {}) as { error?: { metadata: { code: string } } | null }
    return {
      text: events.map(({ type, delta }) => (type === 'response.output_text.delta' ? String(delta) : '')).join(''),
      cost: costIn(raw),
      errorCode: error?.metadata.code,
      complete: ['response.completed', 'response.incomplete', 'response.failed'].includes(String(last?.type)),
    }
  },
  keepAlive: ': keep-alive\n',
}

const responsesPassed: Dialect = { ...responses, name: 'responses, passed through', model: 'test/gpt' }

// A chat caller on a provider that has only the Responses API.
const chatOnResponses: Dialect = { ...chat, name: 'chat, translated to responses', model: 'test/gpt' }

export const DIALECTS: readonly Dialect[] = [
  ...[chat, messages, passedThrough],
  ...[responses, responsesPassed, chatOnResponses],
]

// They never stream, and have no output.
const embeddings: Dialect = {
  name: 'embeddings',
  endpoint: 'embeddings',
  path: '/v1/embeddings',
  model: 'test/vectors',
  body(words) {
    return { model: this.model, input: words }
  },
  text: body => JSON.stringify((body.data as { embedding: number[] }[]).map(({ embedding }) => embedding)),
  counts: body => [(body.usage as Record<string, number>).prompt_tokens ?? 0, 0],
  error: body => errorOf(body),
  stream() {
    throw new Error('embeddings are never streamed')
  },
  keepAlive: '',
}

export const ALL_DIALECTS: readonly Dialect[] = [...DIALECTS, embeddings]

export function streams({ endpoint }: Dialect): boolean {
  return endpoint !== 'embeddings'
}

// A model for each row of the table, all served by one scripted upstream.
export function dialectConfig(upstreamUrl: string): Fields {
  const own = { id: 'claude', kind: 'anthropic', base_url: upstreamUrl }
  return {
    providers: [
      standardProvider(upstreamUrl),
      standardProvider(upstreamUrl, own),
      standardProvider(upstreamUrl, { id: 'gpt', api: 'responses' }),
    ],
    models: [
      standardModel(),
      standardModel({ id: 'test/claude', targets: [{ provider: 'claude', model: 'm1' }] }),
      standardModel({ id: 'test/gpt', targets: [{ provider: 'gpt', model: 'm1' }] }),
      embeddingModel({
        id: 'test/vectors',
        pricing: { prompt: '0.0000025' },
        targets: [{ provider: 'up', model: 'm1' }],
      }),
    ],
  }
}

function dataOf(raw: string): readonly string[] {
  return raw.split('\n').flatMap(line => (line.startsWith('data: ') ? [line.slice(6)] : []))
}

function parsed(data: string): Fields {
  return JSON.parse(data) as Fields
}

function errorOf({ error }: Fields): { readonly code: unknown; readonly type: unknown } {
  return error as { readonly code: unknown; readonly type: unknown }
}

function codeIn(frames: readonly Fields[]): string | undefined {
  const failed = frames.find(({ error }) => error !== undefined)
  return failed === undefined ? undefined : String(errorOf(failed).code)
}

export function costIn(text: string): string | undefined {
  return [...text.matchAll(/"cost":([\d.]+)/g)].at(-1)?.[1]
}
