// Finds an upstream that begins to answer: candidates in order, each until its first content, all within one deadline.
// Until then a failure is ours to mend and the caller sees nothing of it.
import type { Model, Target } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import { Failure, mayTryAnother } from '../domain/failure.ts'
import type { Answer, AnswerListener, Chunk, Client, Flow, Whole } from '../domain/handoff.ts'
import type { Attempt } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import type { Registry } from '../upstream/registry.ts'
import type { Catalog } from './catalog.ts'
import { rank } from './rank.ts'

export type RouteRequest = {
  readonly requestId: string
  readonly chat: Chat
  readonly model: Model
  readonly outputTokens: number | null
  readonly identifiers: Readonly<Record<string, string>>
  readonly client: Client
  // Told with each dispatch, so that a checkpoint can say who was called.
  onDispatch(provider: string, at: number): void
}

export type RouteNeeds = {
  readonly catalog: () => Catalog
  readonly adapters: Registry
  readonly clock: Clock
  readonly random: () => number
  readonly attemptsMax: number
  readonly onFailure: (provider: string, failure: Failure) => void
}

export async function route(request: RouteRequest, needs: RouteNeeds): Promise<Answer> {
  const attempts: Attempt[] = []
  const failures: Failure[] = []
  let dispatchedAt: number | null = null

  for (const target of candidates(request.model, needs)) {
    if (request.client.gone) break
    const started = needs.clock.monotonic()
    dispatchedAt = needs.clock.now()
    request.onDispatch(target.provider, dispatchedAt)
    const begun = await attempt(target, request, needs)
    const ms = Math.round(needs.clock.monotonic() - started)

    if (begun === 'client_left') {
      attempts.push({ provider: target.provider, model: target.model, outcome: 'client_left', status: null, ms })
      break
    }
    if (!(begun instanceof Failure)) {
      attempts.push({ provider: target.provider, model: target.model, outcome: 'answered', status: 200, ms })
      return { model: request.model, attempts, failures, dispatchedAt, served: begun }
    }
    attempts.push({
      provider: target.provider,
      model: target.model,
      outcome: begun.kind,
      status: begun.status ?? null,
      ms,
    })
    failures.push(begun)
    needs.onFailure(target.provider, begun)
    if (!mayTryAnother(begun) || attempts.length >= needs.attemptsMax || twoServerErrors(failures)) break
  }
  return { model: request.model, attempts, failures, dispatchedAt, served: undefined }
}

// A pooled socket may close just as we write on it: a lone target that resets is tried once more.
function candidates(model: Model, needs: RouteNeeds): readonly Target[] {
  return rank(model.targets, needs.random).filter(target => needs.catalog().provider(target.provider) !== undefined)
}

// Content that made two servers fall over is not tried on a third.
function twoServerErrors(failures: readonly Failure[]): boolean {
  return failures.filter(failure => failure.kind === 'status' && (failure.status ?? 0) >= 500).length >= 2
}

async function attempt(target: Target, request: RouteRequest, needs: RouteNeeds) {
  const first = await attemptOnce(target, request, needs)
  if (first instanceof Failure && first.kind === 'reset' && !request.client.gone) {
    needs.onFailure(target.provider, first)
    return attemptOnce(target, request, needs)
  }
  return first
}

type Served = NonNullable<Answer['served']>

// Resolves with the first content; what came until then is kept and replayed to whoever listens.
function attemptOnce(
  target: Target,
  request: RouteRequest,
  needs: RouteNeeds,
): Promise<Served | Failure | 'client_left'> {
  const provider = needs.catalog().provider(target.provider)
  if (provider === undefined) return Promise.resolve(new Failure('refused', 'the provider is gone'))
  const adapter = needs.adapters.get(provider)

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
      flow.abort()
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
      resolve({
        provider: target.provider,
        upstreamModel: target.model,
        ignored: Object.keys(request.chat.extras).filter(name => !provider.passthrough.includes(name)),
        flow,
        listen(next) {
          listener = next
          if (early.whole !== undefined) next.whole(early.whole)
          if (early.chunks.length > 0) next.chunks(early.chunks)
          if (early.ended !== undefined) next.end(early.ended.failure)
        },
      })
    }

    const flow: Flow = adapter.call(
      {
        requestId: request.requestId,
        chat: request.chat,
        model: target.model,
        outputTokens: request.outputTokens,
        identifiers: request.identifiers,
      },
      {
        chunks(chunks) {
          if (listener !== undefined) return listener.chunks(chunks)
          early.chunks.push(...chunks)
          if (chunks.some(hasContent)) serve()
        },
        whole(whole) {
          if (listener !== undefined) return listener.whole(whole)
          early.whole = whole
        },
        end(failure) {
          if (listener !== undefined) return listener.end(failure)
          early.ended = { failure }
          if (decided || failure === undefined) return serve()
          decided = true
          stay()
          resolve(failure)
        },
      },
    )
    stays = [request.client.onGone(() => giveUp('client_left')), request.client.onCut(giveUp)]
  })
}

// The first delta that holds more than a role, or the word that it ended.
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
