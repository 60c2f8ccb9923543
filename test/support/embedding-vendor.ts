// The embeddings of five kinds of vendors, each in its documented format and with its limits: a call that exceeds one is refused,
// as the vendor does. The same text has the same vector everywhere.
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from './node-http.ts'

export type EmbeddingCall = { readonly path: string; readonly inputs: readonly unknown[]; readonly body: Loose }
type Loose = Record<string, unknown>

export type EmbeddingVendor = {
  readonly origin: string
  readonly calls: EmbeddingCall[]
  // The status of the next calls, once each.
  readonly statuses: number[]
  // Kind openai only: what is answered instead of a list, how vectors are written, and whether usage is reported.
  answer: string | undefined
  encoding: 'asked' | 'float' | 'base64'
  hasUsage: boolean
  order: 'asked' | 'reversed'
  delayMs: number
  atOnce: number
  atOnceMax: number
  [Symbol.asyncDispose](): Promise<void>
}

// Exact as 32-bit floats.
export function vectorOf(input: unknown, dimensions: number): number[] {
  const seed = typeof input === 'string' ? input.length : (input as number[]).reduce((sum, token) => sum + token, 0)
  const vector: number[] = []
  for (let at = seed; at < seed + dimensions; at++) vector.push(((at % 1024) - 512) / 1024)
  return vector
}

export function base64Of(vector: readonly number[]): string {
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64')
}

export async function startEmbeddingVendor(): Promise<EmbeddingVendor> {
  const server = createServer(async (req, res) => {
    vendor.atOnce += 1
    vendor.atOnceMax = Math.max(vendor.atOnceMax, vendor.atOnce)
    const pieces: Buffer[] = []
    for await (const piece of req) pieces.push(piece as Buffer)
    const body = JSON.parse(Buffer.concat(pieces).toString()) as Loose
    const path = req.url ?? ''
    const shape = SHAPES.find(({ path: pattern }) => pattern.test(path))
    const inputs = shape?.inputs(body) ?? []
    vendor.calls.push({ path, inputs, body })
    await new Promise(resolve => {
      setTimeout(resolve, vendor.delayMs).unref()
      res.once('close', resolve)
    })
    const status = vendor.statuses.shift() ?? (shape === undefined ? 404 : inputs.length > shape.max(path) ? 400 : 200)
    res.writeHead(status, { 'content-type': 'application/json' })
    res.end(status !== 200 ? '{"error":{"message":"no"}}' : (vendor.answer ?? shape?.answer(inputs, body, vendor)))
    vendor.atOnce -= 1
  })
  const vendor: EmbeddingVendor = {
    origin: '',
    calls: [],
    statuses: [],
    answer: undefined,
    encoding: 'asked',
    hasUsage: true,
    order: 'asked',
    delayMs: 0,
    atOnce: 0,
    atOnceMax: 0,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(vendor, { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

export type EmbeddingsBody = { readonly input?: unknown; readonly [field: string]: unknown }

// An answer of OpenAI's shape.
export function embeddingsText(
  body: EmbeddingsBody,
  prompt_tokens: number | undefined,
  order: EmbeddingVendor['order'] = 'asked',
): string {
  const data = inputsOf(body).map((input, index) => {
    const vector = vectorOf(input, size(body.dimensions))
    return { object: 'embedding', index, embedding: body.encoding_format === 'base64' ? base64Of(vector) : vector }
  })
  if (order === 'reversed') data.reverse()
  const usage = prompt_tokens === undefined ? {} : { usage: { prompt_tokens, total_tokens: prompt_tokens } }
  return JSON.stringify({ object: 'list', data, model: body.model, ...usage })
}

function inputsOf({ input }: EmbeddingsBody): readonly unknown[] {
  return Array.isArray(input) ? input : [input]
}

// Four characters are a token; a list of tokens has its length.
export function tokensOf(inputs: readonly unknown[]): number {
  return inputs.reduce<number>(
    (sum, input) => sum + (typeof input === 'string' ? Math.ceil(input.length / 4) : (input as unknown[]).length),
    0,
  )
}

const DIMENSIONS = 8

type Shape = {
  readonly path: RegExp
  max(path: string): number
  inputs(body: Loose): readonly unknown[]
  answer(inputs: readonly unknown[], body: Loose, vendor: EmbeddingVendor): string
}

const size = (value: unknown) => (typeof value === 'number' ? value : DIMENSIONS)
const cohereVectors = (inputs: readonly unknown[], body: Loose) =>
  inputs.map(text => vectorOf(text, size(body.output_dimension)))

const SHAPES: readonly Shape[] = [
  {
    path: /\/v1\/embeddings$/,
    max: () => 2048,
    inputs: inputsOf,
    answer(inputs, body, { encoding, hasUsage, order }) {
      const encoding_format = encoding === 'asked' ? body.encoding_format : encoding
      return embeddingsText({ ...body, encoding_format }, hasUsage ? tokensOf(inputs) : undefined, order)
    },
  },
  {
    path: /:batchEmbedContents$/,
    max: () => 100,
    inputs: ({ requests }) => (requests as Loose[]).map(({ content }) => textOf(content)),
    answer: (inputs, { requests }) =>
      JSON.stringify({
        embeddings: inputs.map(text => ({
          values: vectorOf(text, size((requests as Loose[])[0]?.outputDimensionality)),
        })),
      }),
  },
  {
    path: /\/v1beta\/models\/.*:embedContent$/,
    max: () => 1,
    inputs: ({ content }) => [textOf(content)],
    answer: ([text], { outputDimensionality }) =>
      JSON.stringify({ embedding: { values: vectorOf(text, size(outputDimensionality)) } }),
  },
  {
    path: /:predict$/,
    max: path => (path.includes('gemini-embedding-') ? 1 : 250),
    inputs: ({ instances }) => (instances as Loose[]).map(({ content }) => content),
    answer: (inputs, { parameters }) =>
      JSON.stringify({
        predictions: inputs.map(text => ({
          embeddings: {
            values: vectorOf(text, size((parameters as Loose | undefined)?.outputDimensionality)),
            statistics: { token_count: tokensOf([text]), truncated: false },
          },
        })),
      }),
  },
  {
    path: /\/v2\/embed$/,
    max: () => 96,
    inputs: ({ texts }) => texts as unknown[],
    answer: (inputs, body) =>
      JSON.stringify({
        id: 'embed-1',
        embeddings: { float: cohereVectors(inputs, body) },
        texts: inputs,
        meta: { billed_units: { input_tokens: tokensOf(inputs) } },
      }),
  },
  {
    path: /\/model\/.*titan.*\/invoke$/,
    max: () => 1,
    inputs: ({ inputText }) => [inputText],
    answer: ([text], { dimensions }) =>
      JSON.stringify({ embedding: vectorOf(text, size(dimensions)), inputTextTokenCount: tokensOf([text]) }),
  },
]

function textOf(content: unknown): string {
  return ((content as { parts: { text: string }[] }).parts[0] as { text: string }).text
}
