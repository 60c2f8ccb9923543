// Every protocol except OpenAI's, spoken by the AI SDK's packages over our own sockets. This file runs the call; other files of
// this folder translate request and response.
import type { LanguageModelV4StreamPart, SharedV4Warning } from '@ai-sdk/provider'
import type { Credential, Provider } from '../../domain/catalog.ts'
import type { Chat } from '../../domain/chat.ts'
import { Failure } from '../../domain/failure.ts'
import type { AnswerListener } from '../../domain/handoff.ts'
import type { SdkKind } from '../../domain/presets.ts'
import { storable } from '../../domain/usage.ts'
import { memoize } from '../../lib/memoize.ts'
import type { Adapter, UpstreamRequest } from '../adapter.ts'
import { partlyServed, sharedMemory } from '../embedding-answer.ts'
import type { WireBounds, WireNeeds } from '../openai/adapter.ts'
import type { Unsaid } from '../openai/error.ts'
import type { AnswerReservation } from '../response-memory.ts'
import { type Embedded, embed } from './embed.ts'
import { failureOfSaying, failureOfSdk, isUnknownShape } from './error.ts'
import { sdkEmbeddingModel, sdkModel } from './models.ts'
import { callOptions, ignoredBy } from './request.ts'
import { partReader, wholeOf } from './response.ts'
import { sdkWire } from './wire.ts'

export function sdkAdapter(provider: Provider, kind: SdkKind, bounds: WireBounds, needs: WireNeeds): Adapter {
  const wire = sdkWire(provider, kind, bounds, needs)
  const sdk: Sdk = { provider, kind, wire, clock: needs.clock }
  // A package's warnings about settings that this model does not accept.
  const warned = memoize((_: Chat): string[] => [])

  return {
    provider,
    call(upstreamRequest, listener) {
      const stop = new AbortController()
      const state: Speaking = {
        paused: false,
        over: false,
        isSent: false,
        isAnswered: false,
        upstreamId: null,
        go: () => {},
      }
      const end = (failure: Failure | undefined) => {
        if (state.over) return
        state.over = true
        listener.end(failure)
      }
      const reservations: AnswerReservation[] = []
      const isEmbedding = upstreamRequest.chat.embedding !== undefined
      const shared = isEmbedding ? sharedMemory(needs.memory) : undefined
      const release = () => {
        for (const reservation of reservations) reservation.release()
      }
      const reserveMemory = (resume: () => void) => {
        const reservation = (shared ?? needs.memory).open(upstreamRequest.accountId, resume)
        reservations.push(reservation)
        return reservation
      }
      const note = (warnings: readonly SharedV4Warning[]) => warned(upstreamRequest.chat).push(...unsupported(warnings))
      speak(sdk, upstreamRequest, listener, state, { signal: stop.signal, note, reserveMemory })
        .then(
          () => {
            shared?.complete()
            end(undefined)
          },
          error => {
            end(failureOfSdk(error, wire.unsaid(upstreamRequest.credential)))
            stop.abort()
          },
        )
        .catch(needs.onBug)
        .finally(() => {
          // Vectors are kept until they were sent.
          if (!isEmbedding || !state.isAnswered) release()
        })
      return {
        ...(isEmbedding ? { reservation: () => ({ release }) } : {}),
        pause() {
          state.paused = true
        },
        resume() {
          state.paused = false
          state.go()
        },
        abort() {
          state.over = true
          stop.abort()
          state.go()
        },
        upstreamId: () => state.upstreamId,
      }
    },
    ignored: chat => [...new Set([...ignoredBy(chat, provider, kind), ...warned(chat)])],
    retire: wire.retire,
    close: wire.close,
  }
}

type Sdk = {
  readonly provider: Provider
  readonly kind: SdkKind
  readonly wire: ReturnType<typeof sdkWire>
  readonly clock: WireNeeds['clock']
}

type CallNeeds = {
  readonly signal: AbortSignal
  readonly note: (warnings: readonly SharedV4Warning[]) => void
  readonly reserveMemory: (resume: () => void) => AnswerReservation
}

type Speaking = {
  paused: boolean
  over: boolean
  isSent: boolean
  // A whole answer was passed on.
  isAnswered: boolean
  upstreamId: string | null
  go: () => void
}

async function speak(
  sdk: Sdk,
  upstreamRequest: UpstreamRequest,
  listener: AnswerListener,
  state: Speaking,
  call: CallNeeds,
): Promise<void> {
  const { provider, kind, wire } = sdk
  const say = <Said>(work: () => Said) => sayable(work, state, wire.unsaid(upstreamRequest.credential))
  if (upstreamRequest.chat.embedding !== undefined) {
    const { whole, rejection } = await say(() => embedding(sdk, noting(upstreamRequest, state), call))
    if (state.over) return
    state.isAnswered = rejection === undefined
    listener.whole(whole)
    if (rejection !== undefined) throw partlyServed(failureOfSdk(rejection, wire.unsaid(upstreamRequest.credential)))
    return
  }
  const options = await say(() => ({ ...callOptions(upstreamRequest, provider, kind), abortSignal: call.signal }))
  const model = await modelFor(sdk, noting(upstreamRequest, state), call)
  if (upstreamRequest.chat.stream) {
    // Anthropic's events have the counts that are billed.
    const { stream } = await say(() => model.doStream({ ...options, includeRawChunks: kind === 'anthropic' }))
    await readStream(stream, kind, listener, state, call.note)
    return
  }
  const result = await say(() => model.doGenerate(options))
  if (state.over) return
  call.note(result.warnings)
  state.upstreamId = idOf(result.response?.id ?? ownIdOf(result.response?.body))
  listener.whole(wholeOf(result, kind))
}

// Each call has a model of its own, since its time is what the others have left.
function embedding(
  { provider, kind, wire, clock }: Sdk,
  upstreamRequest: UpstreamRequest,
  call: CallNeeds,
): Promise<Embedded> {
  const { signal, reserveMemory } = call
  const startedMs = clock.monotonic()
  const credential = needed(upstreamRequest.credential)
  return embed(upstreamRequest, {
    provider,
    kind,
    signal,
    isRejection: error => failureOfSdk(error, wire.unsaid(credential)).kind === 'rejected',
    async model() {
      const totalMsMax = Math.max(1, upstreamRequest.totalMsMax - (clock.monotonic() - startedMs))
      const send = await wire.send({ ...upstreamRequest, totalMsMax }, credential, signal, reserveMemory)
      return sdkEmbeddingModel(kind, { provider, credential, model: upstreamRequest.model, send })
    },
  })
}

async function modelFor(
  { provider, kind, wire }: Sdk,
  upstreamRequest: UpstreamRequest,
  { signal, reserveMemory }: CallNeeds,
) {
  const credential = needed(upstreamRequest.credential)
  signal.throwIfAborted()
  const send = await wire.send(upstreamRequest, credential, signal, reserveMemory)
  const model = await sdkModel(kind, { provider, credential, model: upstreamRequest.model, send })
  signal.throwIfAborted()
  return model
}

// Reads no faster than the listener; unread data stays with the upstream.
async function readStream(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  kind: SdkKind,
  listener: AnswerListener,
  state: Speaking,
  note: CallNeeds['note'],
): Promise<void> {
  const read = partReader(kind)
  const reader = stream.getReader()
  let finished = false
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const part = next.value
    if (state.over) return
    if (part.type === 'error' && isUnknownShape(part.error)) continue
    if (part.type === 'error') throw part.error
    if (part.type === 'stream-start') note(part.warnings)
    else if (part.type === 'response-metadata') state.upstreamId ??= idOf(part.id)
    const chunks = read(part)
    if (chunks.length > 0) listener.chunks(chunks)
    finished ||= part.type === 'finish'
    while (state.paused && !state.over) await resumed(state)
  }
  if (!finished) throw new Failure('interrupted', 'the stream ended without a finish reason')
}

function noting(upstreamRequest: UpstreamRequest, state: Speaking): UpstreamRequest {
  return {
    ...upstreamRequest,
    onSent() {
      if (!state.isSent) upstreamRequest.onSent()
      state.isSent = true
    },
  }
}

// An error thrown before the request was sent is caused by the caller's input.
async function sayable<Said>(work: () => Said, state: Speaking, unsaid: Unsaid): Promise<Awaited<Said>> {
  try {
    return await work()
  } catch (error) {
    throw state.isSent ? error : failureOfSaying(error, unsaid)
  }
}

function resumed(state: Speaking): Promise<void> {
  return new Promise(resolve => {
    state.go = resolve
  })
}

function needed(credential: Credential | undefined): Credential {
  if (credential === undefined) throw new Failure('credential', 'the provider has no credential')
  return credential
}

// Where a package does not read it.
function ownIdOf(body: unknown): string | undefined {
  const id = (body as { readonly id?: unknown } | null | undefined)?.id
  return typeof id === 'string' ? id : undefined
}

function idOf(id: string | undefined): string | null {
  return id === undefined ? null : storable(id, 256)
}

// By the package's names; fields that a caller cannot have sent are left out.
const FIELDS: Readonly<Record<string, string>> = {
  frequencyPenalty: 'frequency_penalty',
  presencePenalty: 'presence_penalty',
  reasoning: 'reasoning_effort',
  responseFormat: 'response_format',
  seed: 'seed',
  stopSequences: 'stop',
  temperature: 'temperature',
  toolChoice: 'tool_choice',
  topK: 'top_k',
  topP: 'top_p',
}

function unsupported(warnings: readonly SharedV4Warning[]): string[] {
  return warnings.flatMap(warning => {
    const name = warning.type === 'unsupported' ? FIELDS[warning.feature] : undefined
    return name === undefined ? [] : [name]
  })
}
