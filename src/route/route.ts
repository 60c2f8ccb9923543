// Finds an upstream that begins to answer: candidates in order, each until its first content, all within one deadline.
// Until then a failure is ours to mend and the caller sees nothing of it.
import type { Model, Target } from '../domain/catalog.ts'
import type { Chat } from '../domain/chat.ts'
import { outputBoundOf } from '../domain/chat-models.ts'
import { Failure, mayTryAnother } from '../domain/failure.ts'
import type { Answer, AnswerListener, Chunk, Client, Flow, Whole } from '../domain/handoff.ts'
import type { Considered } from '../domain/routing.ts'
import type { Attempt } from '../domain/usage.ts'
import type { Clock } from '../lib/clock.ts'
import type { Errand } from '../upstream/adapter.ts'
import type { Registry } from '../upstream/registry.ts'
import type { Catalog } from './catalog.ts'
import { rank } from './rank.ts'

export type RouteRequest = {
  readonly requestId: string
  readonly accountId: string
  readonly chat: Chat
  // Those that may serve, in the caller's order: the first was asked for, the others are to fall back to.
  readonly models: readonly [Model, ...Model[]]
  // What the caller named and what cannot answer it, for the explanation.
  readonly unfit: readonly Considered[]
  // Requests with the same word go to the same target while it is well, so that its prompt cache stays warm.
  readonly stickTo: string | null
  // At most so many tokens a choice, whoever answers; null: as many as the model can.
  readonly capTokens: number | null
  readonly identifiers: Readonly<Record<string, string>>
  readonly client: Client
  // A place to read on for a caller that left; false: there is none.
  readOn(): boolean
  // Told whenever a request has left for an upstream, so that a checkpoint can say who was called.
  onDispatch(provider: string, model: Model, at: number): void
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
  const queue = request.models.flatMap(model => candidates(model, needs))
  const considered: Considered[] = queue.map(({ model, target }, position) => ({
    model: model.id,
    provider: target.provider,
    position,
    reason: model === request.models[0] ? ('priority' as const) : ('fallback_model' as const),
  }))
  considered.push(...request.unfit)
  const triedAgain = new Set<Target>()
  const deadline = needs.clock.monotonic() + timeoutOf(queue[0]?.target, needs)

  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { model, target } = next
    const leftMs = deadline - needs.clock.monotonic()
    if (request.client.gone || (attempts.length > 0 && leftMs < RETRY_MS_MIN)) break
    const started = needs.clock.monotonic()
    const { provider } = target
    dispatchedAt = null
    const onSent = () => {
      dispatchedAt = needs.clock.now()
      request.onDispatch(provider, model, dispatchedAt)
    }
    const begun = await attempt(next, { ...request, totalMsMax: leftMs, onSent }, needs)
    const ms = Math.round(needs.clock.monotonic() - started)

    if (begun === 'client_left') {
      attempts.push({ provider: target.provider, model: target.model, outcome: 'client_left', status: null, ms })
      break
    }
    if (!(begun instanceof Failure)) {
      attempts.push({ provider: target.provider, model: target.model, outcome: 'answered', status: 200, ms })
      return { model, attempts, considered, failures, dispatchedAt, served: begun }
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
    // A pooled socket may close just as we write on it: that says nothing about the target.
    if (begun.stale && !triedAgain.has(target)) {
      triedAgain.add(target)
      queue.unshift(next)
    }
  }
  return { model: request.models[0], attempts, considered, failures, dispatchedAt, served: undefined }
}

// With less time than this left, another try would only make an upstream work for nobody.
const RETRY_MS_MIN = 50

type Candidate = { readonly model: Model; readonly target: Target }

function candidates(model: Model, needs: RouteNeeds): readonly Candidate[] {
  return rank(model.targets, needs.random)
    .filter(target => needs.catalog().provider(target.provider) !== undefined)
    .map(target => ({ model, target }))
}

// All tries share one deadline: the total timeout of the first.
function timeoutOf(target: Target | undefined, needs: RouteNeeds): number {
  return target === undefined ? 0 : (needs.catalog().provider(target.provider)?.timeouts.totalMs ?? 0)
}

// Content that made two servers fall over is not tried on a third.
function twoServerErrors(failures: readonly Failure[]): boolean {
  return failures.filter(failure => failure.kind === 'status' && (failure.status ?? 0) >= 500).length >= 2
}

type Serving = NonNullable<Answer['served']>

// Resolves with the first content; what came until then is kept and replayed to whoever listens.
function attempt(
  { model, target }: Candidate,
  request: RouteRequest & Pick<Errand, 'totalMsMax' | 'onSent'>,
  needs: RouteNeeds,
): Promise<Serving | Failure | 'client_left'> {
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
        cost: target.cost,
        ignored: [
          ...Object.keys(request.chat.extras).filter(name => !provider.passthrough.includes(name)),
          ...request.chat.leftOut,
        ],
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
        credential: needs.catalog().credentials(target.provider)[0],
        model: target.model,
        outputTokens: request.capTokens === null ? null : outputBoundOf(model, request.capTokens),
        outputBound: outputBoundOf(model, request.capTokens),
        identifiers: request.identifiers,
        totalMsMax: request.totalMsMax,
        onSent: request.onSent,
      },
      {
        chunks(chunks) {
          if (listener !== undefined) return listener.chunks(chunks)
          early.chunks.push(...chunks)
          if (chunks.some(hasContent)) serve()
          // Without content a chunk says nothing but a count, and the last one has it.
          else if (!decided && early.chunks.length > EARLY_CHUNKS_MAX) early.chunks.splice(0, early.chunks.length - 1)
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
    // Reasoning that nobody sees is produced before the first content: its count is worth waiting for.
    const onGone = () => {
      if (decided) return
      if (!model.hiddenReasoning || !request.readOn()) giveUp('client_left')
    }
    stays = [request.client.onGone(onGone), request.client.onCut(giveUp)]
  })
}

const EARLY_CHUNKS_MAX = 64

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
