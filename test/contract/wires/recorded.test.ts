// Answers in each vendor's documented format, with what mocks leave out: cached tokens, cache writes, reasoning tokens,
// signatures and ids.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import * as anthropic from '../../fixtures/wires/anthropic.ts'
import * as bedrock from '../../fixtures/wires/bedrock.ts'
import * as cohere from '../../fixtures/wires/cohere.ts'
import * as google from '../../fixtures/wires/google.ts'
import { FORGETFUL, withBounds } from '../../support/bounds.ts'
import { startGateway } from '../../support/gateway.ts'
import { assertChatCompletion, assertChunk } from '../../support/schemas.ts'
import type { StreamChunk } from '../../support/sse.ts'
import { settledRow } from '../../support/usage.ts'
import { amazonAnswer, jsonAnswer, sseAnswer, startVendor, type VendorAnswer } from '../../support/vendor.ts'
import { wiresConfig } from '../../support/wires.ts'

type Expected = {
  readonly id: string
  readonly content: string
  readonly reasoning: string
  readonly details: readonly Detail[] | undefined
  readonly call: {
    readonly id?: string
    readonly name: string
    readonly arguments: object
    readonly extra_content?: object
  }
  readonly finish: string
  readonly tokens: { prompt: number; cached: number; cacheWrite: number; completion: number; reasoning: number }
}
type Detail = { type: string; text?: string; signature?: string; index: number }
type Recording = readonly [kind: string, json: VendorAnswer, stream: VendorAnswer, expected: Expected]

const withId = (answer: VendorAnswer): VendorAnswer => ({
  ...answer,
  headers: { 'x-amzn-RequestId': bedrock.expected.id },
})
const RECORDINGS: readonly Recording[] = [
  ['anthropic', jsonAnswer(anthropic.json), sseAnswer(anthropic.stream, true), anthropic.expected],
  ['google', jsonAnswer(google.json), sseAnswer(google.stream, false), google.expected],
  ['vertex', jsonAnswer(google.json), sseAnswer(google.stream, false), google.expected],
  ['bedrock', withId(jsonAnswer(bedrock.json)), withId(amazonAnswer(bedrock.stream)), bedrock.expected],
  ['cohere', jsonAnswer(cohere.json), sseAnswer(cohere.stream, true), cohere.expected],
]

const vendor = await startVendor()
const gateway = await startGateway({
  ...withBounds(FORGETFUL),
  config: wiresConfig(vendor.origin),
})
after(async () => {
  const { ok, output } = await gateway.audit()
  await gateway[Symbol.asyncDispose]()
  await vendor[Symbol.asyncDispose]()
  assert.ok(ok, `the audit found: ${JSON.stringify(output)}`)
})
const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }]

for (const [kind, json, stream, expected] of RECORDINGS) {
  const ask = (more: object = {}) => gateway.chat({ model: `test/${kind}`, tools, ...more })

  test(`${kind}: a recorded answer is translated completely into OpenAI's format`, async () => {
    vendor.next(json)

    const answer = await ask()

    assert.equal(answer.status, 200, answer.text)
    assertChatCompletion(answer.body)
    const { message, finish_reason } = (answer.body as unknown as Completion).choices[0]!
    const { id, function: called, ...rest } = message.tool_calls[0]!
    assert.equal(message.content, expected.content)
    assert.equal(message.reasoning_content, expected.reasoning)
    assert.deepEqual(message.reasoning_details, expected.details)
    assert.deepEqual({ name: called.name, arguments: JSON.parse(called.arguments) }, named(expected))
    assert.deepEqual(rest.extra_content, expected.call.extra_content)
    assert.equal(id, expected.call.id ?? id)
    assert.equal(finish_reason, expected.finish)
    await assertBooked(answer.headers['x-request-id'], expected)
  })

  test(`${kind}: a recorded stream gives the same`, async () => {
    vendor.next(stream)

    const answer = await ask({ stream: true, stream_options: { include_usage: true } })

    assert.equal(answer.status, 200, answer.text)
    const { chunks, content } = answer.sse
    for (const chunk of chunks) assertChunk(chunk)
    const deltas = deltasOf(chunks)
    const pieces = deltas.flatMap(delta => delta.tool_calls ?? [])
    assert.equal(content, expected.content)
    assert.equal(deltas.map(delta => delta.reasoning_content ?? '').join(''), expected.reasoning)
    assert.deepEqual(mergedDetails(deltas), expected.details)
    assert.ok(pieces.every(piece => piece.index === 0))
    assert.equal(pieces[0]?.id, expected.call.id ?? pieces[0]?.id)
    assert.deepEqual(pieces[0]?.extra_content, expected.call.extra_content)
    const text = pieces.map(piece => piece.function?.arguments ?? '').join('')
    assert.deepEqual({ name: pieces[0]?.function?.name, arguments: JSON.parse(text) }, named(expected))
    assert.equal(chunks.findLast(chunk => chunk.choices.length > 0)?.choices[0]?.finish_reason, expected.finish)
    await assertBooked(answer.headers['x-request-id'], expected)
  })
}

async function assertBooked(requestId: unknown, { id, tokens }: Expected): Promise<void> {
  const row = await settledRow(gateway, requestId)
  assert.deepEqual(
    [row.prompt_tokens, row.cached_tokens, row.cache_write_tokens, row.completion_tokens, row.reasoning_tokens],
    [tokens.prompt, tokens.cached, tokens.cacheWrite, tokens.completion, tokens.reasoning],
  )
  assert.equal(row.usage_source, 'upstream')
  assert.equal(row.upstream_id, id)
}

function named({ call }: Expected): object {
  return { name: call.name, arguments: call.arguments }
}

type Call = {
  readonly index: number
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
  readonly extra_content?: object
}
type Spoken = { readonly reasoning_content?: string; readonly reasoning_details?: readonly Detail[] }
type Delta = Spoken & { readonly tool_calls?: readonly Call[] }
type Completion = {
  readonly choices: readonly {
    readonly message: Spoken & { readonly content: string; readonly tool_calls: readonly Call[] }
    readonly finish_reason: string
  }[]
}

function deltasOf(chunks: readonly StreamChunk[]): readonly Delta[] {
  return chunks.flatMap(chunk => chunk.choices.map(choice => choice.delta as unknown as Delta))
}

// As a client assembles them: pieces of one index belong together.
function mergedDetails(deltas: readonly Delta[]): readonly Detail[] | undefined {
  const merged: Detail[] = []
  for (const detail of deltas.flatMap(delta => delta.reasoning_details ?? [])) {
    const known = merged[detail.index]
    merged[detail.index] = { ...known, ...detail, text: (known?.text ?? '') + (detail.text ?? '') }
  }
  return merged.length === 0 ? undefined : merged
}
