// Questions of our own to a target: one token, made-up content, nobody's row and nobody's money. They tell an upstream that
// is unwell from a caller's content that it cannot bear, and a dead credential from a request that it refuses.
import type { Credential, Provider } from '../domain/catalog.ts'
import { parseChat } from '../domain/chat.ts'
import type { Failure } from '../domain/failure.ts'
import type { Flow } from '../domain/handoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Registry } from '../upstream/registry.ts'

export type ProbeNeeds = {
  readonly adapters: Registry
  readonly clock: Clock
  readonly newId: () => string
  readonly probeTimeoutMs: number
  readonly probesAtOnceMax: number
  readonly onBug: (error: unknown) => void
}

export type Probes = {
  // Asks, unless the same question is on its way or too many are: then false, and nothing is told.
  ask(about: string, question: Question, tell: (failure: Failure | undefined) => void): boolean
  // Gives up those that are past their time; an adapter that keeps its own time leaves none.
  prune(): void
  close(): void
}

export type Question = {
  readonly provider: Provider
  readonly model: string
  readonly credential: Credential | undefined
}

export function probes(needs: ProbeNeeds): Probes {
  const underWay = new Map<string, { readonly sinceMs: number; flow: Flow | undefined }>()

  function ask(about: string, question: Question, tell: (failure: Failure | undefined) => void): boolean {
    if (underWay.has(about) || underWay.size >= needs.probesAtOnceMax) return false
    const probe = { sinceMs: needs.clock.monotonic(), flow: undefined as Flow | undefined }
    underWay.set(about, probe)
    const end = (failure: Failure | undefined) => {
      if (underWay.get(about) !== probe) return
      underWay.delete(about)
      tell(failure)
    }
    try {
      probe.flow = send(question, end)
    } catch (error) {
      underWay.delete(about)
      needs.onBug(error)
    }
    return true
  }

  function send({ provider, model, credential }: Question, end: (failure: Failure | undefined) => void): Flow {
    const errand = {
      requestId: needs.newId(),
      chat: QUESTION,
      credential,
      model,
      outputTokens: 1,
      outputBound: 1,
      identifiers: {},
      totalMsMax: needs.probeTimeoutMs,
      onSent: () => undefined,
    }
    return needs.adapters.get(provider).call(errand, { chunks: () => undefined, whole: () => undefined, end })
  }

  function giveUp(about: string, flow: Flow | undefined): void {
    underWay.delete(about)
    flow?.abort()
  }

  return {
    ask,
    prune() {
      const before = needs.clock.monotonic() - 2 * needs.probeTimeoutMs
      for (const [about, { sinceMs, flow }] of underWay) if (sinceMs < before) giveUp(about, flow)
    },
    close() {
      for (const [about, { flow }] of underWay) giveUp(about, flow)
    },
  }
}

const QUESTION = parseChat({ model: 'probe', messages: [{ role: 'user', content: 'Say OK.' }], max_tokens: 1 })
