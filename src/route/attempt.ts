// One attempt: sends the request to one target and resolves with its first content; earlier chunks are buffered and replayed to
// the listener. The outcome, up to the end of the answer, is recorded for the target.
import type { Model } from '../domain/catalog.ts'
import { type Chat, outputBoundOf, vectorsOf } from '../domain/chat.ts'
import type { Failure } from '../domain/failure.ts'
import type { Answer, AnswerListener, Chunk, Client, UpstreamStream, Whole } from '../domain/handoff.ts'
import { mayReasonUnseen } from '../domain/reasoning.ts'
import type { RequestTrace } from '../domain/trace.ts'
import type { UpstreamRequest } from '../upstream/adapter.ts'
import type { Registry } from '../upstream/registry.ts'
import { type AttemptLease, attemptAnswered, cancelAttempt, finishAttempt } from './attempt-lease.ts'
import type { Targets } from './targets.ts'

export type AttemptRequest = {
  readonly requestId: string
  readonly chat: Chat
  // The maximum number of tokens per choice, whichever model answers; null: the model's maximum.
  readonly capTokens: number | null
  readonly identifiers: Readonly<Record<string, string>>
  readonly accountMark: string
  readonly client: Client
  readonly trace: RequestTrace | undefined
  // Whether an answer of this model is read to its end without the caller, since only its end tells what was produced.
  readsOn(model: Model): boolean
}

export type AttemptNeeds = { readonly adapters: Registry; readonly targets: Targets }

export type Leaving = Pick<UpstreamRequest, 'totalMsMax' | 'onSent'>

type Serving = NonNullable<Answer['served']>

export function attempt(
  lease: AttemptLease,
  request: AttemptRequest,
  leaving: Leaving,
  needs: AttemptNeeds,
): Promise<Serving | Failure | 'client_left'> {
  const { client } = request

  return new Promise(resolve => {
    const running: Running = {
      lease,
      request,
      needs,
      resolve,
      silence: mayReasonUnseen(request.chat.reasoning, lease.candidate.model) ? { expected: true } : undefined,
      stream: undefined,
      listener: undefined,
      decided: false,
      stays: [],
      earlyChunks: [],
      earlyWhole: undefined,
      earlyEnd: undefined,
    }
    running.stream = setOff(lease, needs.adapters, upstreamRequestOf(running, leaving), listenerOf(running))
    running.stays = [client.onGone(() => clientLeft(running)), client.onCancelled(why => giveUp(running, why))]
  })
}

// An attempt until its answer has ended. It is decided once its first content, or its failure, has been reported.
type Running = {
  readonly lease: AttemptLease
  readonly request: AttemptRequest
  readonly needs: AttemptNeeds
  readonly resolve: (outcome: Serving | Failure | 'client_left') => void
  readonly silence: { expected: boolean } | undefined
  // Undefined until the adapter has returned; no content arrives before.
  stream: UpstreamStream | undefined
  listener: AnswerListener | undefined
  decided: boolean
  stays: readonly (() => void)[]
  // What arrived before there was a listener.
  earlyChunks: Chunk[]
  earlyWhole: Whole | undefined
  earlyEnd: { readonly failure: Failure | undefined } | undefined
}

function upstreamRequestOf({ lease, request, silence }: Running, leaving: Leaving): UpstreamRequest {
  const { model, target } = lease.candidate
  return {
    requestId: request.requestId,
    accountId: lease.accountId,
    chat: request.chat,
    credential: lease.credentialState.credential,
    model: target.model,
    outputTokens: request.capTokens === null ? null : outputBoundOf(model, request.capTokens),
    outputBound: outputBoundOf(model, request.capTokens),
    vectors: vectorsOf(request.chat, model),
    identifiers: request.identifiers,
    accountMark: request.accountMark,
    totalMsMax: leaving.totalMsMax,
    silence,
    traceparent: request.trace?.beginAttempt(),
    onSent: leaving.onSent,
  }
}

// An unexpected error says nothing about the target.
function setOff(
  lease: AttemptLease,
  adapters: Registry,
  upstreamRequest: UpstreamRequest,
  listener: AnswerListener,
): UpstreamStream {
  try {
    return adapters.get(lease.candidate.provider).call(upstreamRequest, listener)
  } catch (error) {
    cancelAttempt(lease)
    throw error
  }
}

const EARLY_CHUNKS_MAX = 64

function listenerOf(running: Running): AnswerListener {
  return {
    chunks(chunks) {
      if (running.listener !== undefined) return running.listener.chunks(chunks)
      const early = running.earlyChunks
      early.push(...chunks)
      // Events that are passed through must not be dropped.
      const isFull = early.length > EARLY_CHUNKS_MAX && early[0]?.native !== undefined
      if (isFull || chunks.some(hasContent)) serve(running)
      // A chunk without content only carries a count, and the last one has it.
      else if (!running.decided && early.length > EARLY_CHUNKS_MAX) early.splice(0, early.length - 1)
    },
    whole(whole) {
      if (running.listener !== undefined) return running.listener.whole(whole)
      running.earlyWhole = whole
    },
    end(failure) {
      // What was produced is served, if only to be billed.
      if (failure === undefined || failure.producedBytes > 0) serve(running)
      finishAttempt(running.lease, failure, running.needs.targets)
      if (running.listener !== undefined) return running.listener.end(failure)
      running.earlyEnd = { failure }
      if (failure !== undefined && decide(running)) running.resolve(failure)
    },
  }
}

// The first delta that contains more than a role, or the finish reason.
function hasContent(chunk: Chunk): boolean {
  return chunk.choices.some(choice => {
    if (choice.finish_reason !== null) return true
    for (const name in choice.delta) {
      const value = choice.delta[name]
      if (name !== 'role' && value !== null && value !== undefined && value !== '') return true
    }
    return false
  })
}

function serve(running: Running): void {
  if (!decide(running)) return
  const { lease, request, needs, silence, stream } = running
  const { target, provider } = lease.candidate
  const { pause, resume, reservation, upstreamId } = stream!
  if (silence !== undefined) silence.expected = false
  attemptAnswered(lease, request.chat.stream, needs.targets)
  running.resolve({
    provider: target.provider,
    cost: target.cost,
    ignored: needs.adapters.get(provider).ignored(request.chat, target.model),
    stream: { pause, resume, reservation, upstreamId, abort: () => abort(running) },
    listen: listener => replayTo(running, listener),
  })
}

// True once, for the first to report the outcome: from then on a caller that leaves is the listener's concern.
function decide(running: Running): boolean {
  if (running.decided) return false
  running.decided = true
  for (const undo of running.stays) undo()
  return true
}

function replayTo(running: Running, listener: AnswerListener): void {
  const { earlyChunks, earlyWhole } = running
  running.listener = listener
  // Released early: not kept for the duration of the answer.
  running.earlyChunks = []
  running.earlyWhole = undefined
  if (earlyWhole !== undefined) listener.whole(earlyWhole)
  if (earlyChunks.length > 0) listener.chunks(earlyChunks)
  if (running.earlyEnd !== undefined) listener.end(running.earlyEnd.failure)
}

// Tokens produced before the first content are hidden: their count is worth waiting for.
function clientLeft(running: Running): void {
  const { lease, request } = running
  if (!lease.sent || !request.readsOn(lease.candidate.model)) giveUp(running, 'client_left')
}

function giveUp(running: Running, why: Failure | 'client_left'): void {
  if (!decide(running)) return
  abort(running)
  running.resolve(why)
}

function abort({ lease, stream }: Running): void {
  cancelAttempt(lease)
  stream?.abort()
}
