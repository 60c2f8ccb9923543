// One attempt: sends the request to one target and resolves with its first content; earlier chunks are buffered and replayed to
// the listener. The outcome, up to the end of the answer, is recorded for the target.
import type { Model } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import { outputBoundOf } from '../domain/chat-models.ts'
import type { Failure } from '../domain/failure.ts'
import type { Answer, AnswerListener, Chunk, Client, UpstreamStream, Whole } from '../domain/handoff.ts'
import { mayReasonUnseen } from '../domain/reasoning.ts'
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
  { adapters, targets }: AttemptNeeds,
): Promise<Serving | Failure | 'client_left'> {
  const { model, target, provider } = lease.candidate
  const { chat } = request
  const silence = mayReasonUnseen(chat.reasoning, model) ? { expected: true } : undefined

  return new Promise(resolve => {
    const early: { chunks: Chunk[]; whole: Whole | undefined; ended: { failure: Failure | undefined } | undefined } = {
      chunks: [],
      whole: undefined,
      ended: undefined,
    }
    let listener: AnswerListener | undefined
    let decided = false

    const giveUp = (why: Failure | 'client_left') => {
      if (decided) return
      decided = true
      abort()
      stay()
      resolve(why)
    }
    let stays: readonly (() => void)[] = []
    const stay = () => {
      for (const undo of stays) undo()
    }
    const serve = () => {
      if (decided) return
      decided = true
      stay()
      if (silence !== undefined) silence.expected = false
      attemptAnswered(lease, chat.stream, targets)
      resolve({
        provider: target.provider,
        cost: target.cost,
        ignored: adapters.get(provider).ignored(chat),
        stream: { ...stream, abort },
        listen(next) {
          listener = next
          const { chunks, whole } = early
          // Released early: not kept for the duration of the answer.
          early.chunks = []
          early.whole = undefined
          if (whole !== undefined) next.whole(whole)
          if (chunks.length > 0) next.chunks(chunks)
          if (early.ended !== undefined) next.end(early.ended.failure)
        },
      })
    }

    const stream = setOff(
      lease,
      adapters,
      {
        requestId: request.requestId,
        accountId: lease.accountId,
        chat,
        credential: lease.credentialState.credential,
        model: target.model,
        outputTokens: request.capTokens === null ? null : outputBoundOf(model, request.capTokens),
        outputBound: outputBoundOf(model, request.capTokens),
        identifiers: request.identifiers,
        accountMark: request.accountMark,
        totalMsMax: leaving.totalMsMax,
        silence,
        onSent: leaving.onSent,
      },
      {
        chunks(chunks) {
          if (listener !== undefined) return listener.chunks(chunks)
          early.chunks.push(...chunks)
          if (chunks.some(hasContent)) serve()
          // A chunk without content only carries a count, and the last one has it.
          else if (!decided && early.chunks.length > EARLY_CHUNKS_MAX) early.chunks.splice(0, early.chunks.length - 1)
        },
        whole(whole) {
          if (listener !== undefined) return listener.whole(whole)
          early.whole = whole
        },
        end(failure) {
          // What was produced is served, if only to be billed.
          if (failure === undefined || failure.producedBytes > 0) serve()
          finishAttempt(lease, failure, targets)
          if (listener !== undefined) return listener.end(failure)
          early.ended = { failure }
          if (decided || failure === undefined) return
          decided = true
          stay()
          resolve(failure)
        },
      },
    )
    const abort = () => {
      cancelAttempt(lease)
      stream.abort()
    }
    // Tokens produced before the first content are hidden: their count is worth waiting for.
    const onGone = () => {
      if (decided) return
      if (!lease.sent || !request.readsOn(model)) giveUp('client_left')
    }
    stays = [request.client.onGone(onGone), request.client.onCancelled(giveUp)]
  })
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
