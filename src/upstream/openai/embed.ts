// Embeddings of a provider that speaks OpenAI's protocol: as many calls as it needs for all inputs, read like any whole answer.
import type { Provider } from '../../domain/catalog.ts'
import { type Batch, batchesOf, batchLimits, withValuesMax } from '../../domain/embedding-batches.ts'
import type { AnswerListener, UpstreamStream } from '../../domain/handoff.ts'
import type { Clock } from '../../lib/clock.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { inBatches, sharedMemory } from '../embedding-answer.ts'
import type { HttpClientRequest } from '../http-client.ts'
import type { AnswerMemory } from '../response-memory.ts'
import type { JsonReaderSetup, WholeSetup } from './json-reader.ts'
import type { RequestWriter } from './request.ts'

// The answer to one call is read as a whole: at up to 22 characters a value, this many fit.
const VALUES_PER_CALL_MAX = 1024 * 1024
// Up to this size vectors are read on the event loop, even if they have to be converted.
const INLINE_BYTES_MAX = 256 * 1024

export type EmbedderNeeds = {
  readonly clock: Clock
  readonly memory: AnswerMemory
  path(model: string): string
  readonly bodyOf: RequestWriter['embeddingBody']
  setupFor(upstreamRequest: UpstreamRequest): { readonly head: string; readonly setup: JsonReaderSetup }
  requestOf(
    upstreamRequest: UpstreamRequest,
    head: string,
    firstByteMs: number,
    own: Pick<HttpClientRequest, 'path' | 'body'>,
  ): HttpClientRequest
  whole(request: HttpClientRequest, listener: AnswerListener, setup: WholeSetup): UpstreamStream
}

export function embedder(provider: Provider, needs: EmbedderNeeds) {
  return (upstreamRequest: UpstreamRequest, listener: AnswerListener): UpstreamStream => {
    const { chat, model, vectors } = upstreamRequest
    const limits = withValuesMax(batchLimits(provider, model), vectors?.dimensions ?? 1, VALUES_PER_CALL_MAX)
    const batches = batchesOf(chat.embedding?.inputs ?? [], limits)
    const memory = sharedMemory(needs.memory)
    const startedMs = needs.clock.monotonic()
    let isSent = false

    // All calls share the time of the request, and it counts as sent with the first.
    function call(batch: Batch, part: AnswerListener): UpstreamStream {
      const totalMsMax = Math.max(1, upstreamRequest.totalMsMax - (needs.clock.monotonic() - startedMs))
      const onSent = () => {
        if (!isSent) upstreamRequest.onSent()
        isSent = true
      }
      return embed({ ...upstreamRequest, totalMsMax, onSent }, batch, part, memory)
    }

    return inBatches(batches, limits.concurrent, call, {
      ...listener,
      whole(whole) {
        memory.complete()
        listener.whole(whole)
      },
    })
  }

  function embed(
    upstreamRequest: UpstreamRequest,
    { inputs, from }: Batch,
    listener: AnswerListener,
    memory: Pick<AnswerMemory, 'open'>,
  ): UpstreamStream {
    const { chat, model, vectors } = upstreamRequest
    const { head, setup } = needs.setupFor(upstreamRequest)
    const wanted = {
      encoding: chat.embedding?.encoding ?? 'float',
      dimensions: vectors?.dimensions ?? 0,
      count: inputs.length,
      from,
    }
    const answerInlineBytesMax = Math.min(setup.answerInlineBytesMax, INLINE_BYTES_MAX)
    const own = { path: needs.path(model), body: needs.bodyOf(upstreamRequest, inputs) }
    const request = needs.requestOf(upstreamRequest, head, provider.timeouts.firstByteJsonMs, own)
    const readerSetup = { ...setup, answerInlineBytesMax, vectors: wanted }
    return needs.whole(request, listener, { readerSetup, memory })
  }
}

// Where a provider has embeddings, given where it has chats.
export function embeddingsPath(path: string): string {
  return path.endsWith(CHATS) ? `${path.slice(0, -CHATS.length)}/embeddings` : '/embeddings'
}

const CHATS = '/chat/completions'
