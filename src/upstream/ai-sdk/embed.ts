// Embeddings through an AI SDK package: as many calls as the vendor's limits require, a few at once, and the vectors written in
// the caller's encoding as they arrive.
import type { EmbeddingModelV4, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { Provider } from '../../domain/catalog.ts'
import type { Embedding, Vectors } from '../../domain/chat.ts'
import { type Batch, batchesOf, batchLimits, withValuesMax } from '../../domain/embedding-batches.ts'
import { Failure } from '../../domain/failure.ts'
import type { Whole } from '../../domain/handoff.ts'
import type { SdkKind } from '../../domain/presets.ts'
import { vectorItems, writeVector } from '../../lib/vectors.ts'
import type { UpstreamRequest } from '../adapter.ts'
import { usageAlone, wholeOf } from '../embedding-answer.ts'
import { cannot } from './media.ts'

// A package parses an answer on the event loop, and larger ones are refused.
const VALUES_PER_CALL_MAX = 40_000

export type EmbedNeeds = {
  readonly provider: Provider
  readonly kind: SdkKind
  readonly signal: AbortSignal
  // A model for one call, within the time that is left.
  model(): Promise<EmbeddingModelV4>
  isRejection(error: unknown): boolean
}

// With a rejection of one call, `whole` has the usage of those that were answered.
export type Embedded = { readonly whole: Whole; readonly rejection?: unknown }

export async function embed(upstreamRequest: UpstreamRequest, needs: EmbedNeeds): Promise<Embedded> {
  const { chat, model, vectors } = upstreamRequest
  const { embedding } = chat
  if (embedding === undefined || vectors === undefined) throw cannot('The request has no input.')
  if (typeof embedding.inputs[0] !== 'string')
    throw cannot("This model's provider accepts text only; send strings instead of tokens.")
  const limits = withValuesMax(batchLimits(needs.provider, model), vectors.dimensions, VALUES_PER_CALL_MAX)
  const batches = batchesOf(embedding.inputs, limits)
  const parts: Part[] = []
  let next = 0
  let rejection: unknown

  async function work(): Promise<void> {
    while (next < batches.length && rejection === undefined) {
      const number = next++
      needs.signal.throwIfAborted()
      try {
        parts[number] = await embedBatch(
          batches[number] as Batch,
          embedding as Embedding,
          vectors as Vectors,
          needs,
          model,
        )
      } catch (error) {
        // Calls that run are paid for in any case. Any other failure ends all: the caller aborts the signal.
        if (!needs.isRejection(error)) throw error
        rejection ??= error
      }
    }
  }

  await Promise.all(Array.from({ length: Math.min(limits.concurrent, batches.length) }, work))
  if (rejection === undefined) return { whole: wholeOf(parts) }
  const embedded = parts.filter(part => part !== undefined)
  if (embedded.length === 0) throw rejection
  return { whole: usageAlone(embedded), rejection }
}

type Part = { readonly embeddings: readonly Uint8Array[]; readonly usage: object | undefined }

async function embedBatch(
  { inputs, from }: Batch,
  { encoding }: Embedding,
  vectors: Vectors,
  { kind, signal, model }: EmbedNeeds,
  name: string,
): Promise<Part> {
  const result = await (await model()).doEmbed({
    values: [...(inputs as readonly string[])],
    abortSignal: signal,
    ...(vectors.isResizable ? sizeOptions(vectors.dimensions, kind, name) : {}),
  })
  const { embeddings, usage } = result
  if (embeddings.length !== inputs.length) throw invalid(`${embeddings.length} embeddings instead of ${inputs.length}`)
  for (const { length } of embeddings)
    if (length !== vectors.dimensions)
      throw invalid(`an embedding of ${length} dimensions instead of ${vectors.dimensions}`)
  const written = vectorItems(
    embeddings.map(vector => writeVector(vector, encoding)),
    from,
  )
  return { embeddings: [written], usage: usage === undefined ? undefined : { prompt_tokens: usage.tokens } }
}

// Each package has its own name for it.
function sizeOptions(dimensions: number, kind: SdkKind, model: string): { providerOptions: SharedV4ProviderOptions } {
  if (kind === 'google') return { providerOptions: { google: { outputDimensionality: dimensions } } }
  if (kind === 'vertex') return { providerOptions: { googleVertex: { outputDimensionality: dimensions } } }
  if (kind === 'cohere') return { providerOptions: { cohere: { outputDimension: dimensions } } }
  const name = model.includes('cohere.embed-')
    ? 'outputDimension'
    : model.includes('amazon.nova-')
      ? 'embeddingDimension'
      : 'dimensions'
  return { providerOptions: { amazonBedrock: { [name]: dimensions } } }
}

function invalid(what: string): Failure {
  return new Failure('invalid_response', `unexpected upstream response: ${what}`, { status: 200 })
}
