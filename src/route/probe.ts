// Probes: requests of one token with fixed content, without a usage row or a charge. They distinguish an unhealthy upstream from
// content that it cannot handle, and a rejected credential from a rejected request.

import { parseEmbeddings } from '../chat/parse-embeddings.ts'
import { parseChat } from '../chat/parse-request.ts'
import type { Credential, Provider } from '../domain/catalog.ts'
import type { Vectors } from '../domain/chat.ts'
import { Failure } from '../domain/failure.ts'
import type { UpstreamStream } from '../domain/handoff.ts'
import type { Clock } from '../lib/clock.ts'
import type { Registry } from '../upstream/registry.ts'

export type ProbeNeeds = {
  readonly adapters: Registry
  readonly clock: Clock
  readonly newId: () => string
  // The vectors of a provider's model that embeds; undefined for one that chats.
  vectors(providerId: string, model: string): Vectors | undefined
  readonly probeTimeoutMs: number
  readonly probesAtOnceMax: number
  readonly onBug: (error: unknown) => void
}

export type Probes = {
  // Sends a probe, unless the same one is in flight or too many are: then returns false, and there is no callback.
  start(about: string, target: ProbeTarget, onResult: (failure: Failure | undefined) => void): boolean
  // Ends probes past their time limit as unanswered; adapters with their own time limit leave none.
  prune(): void
  close(): void
}

export type ProbeTarget = {
  readonly provider: Provider
  readonly model: string
  readonly credential: Credential | undefined
  // One if absent.
  readonly outputTokens?: number
}

export function probes(needs: ProbeNeeds): Probes {
  const underWay = new Map<string, Probe>()

  function start(about: string, target: ProbeTarget, onResult: (failure: Failure | undefined) => void): boolean {
    if (underWay.has(about) || underWay.size >= needs.probesAtOnceMax) return false
    const end = (failure: Failure | undefined) => {
      if (underWay.get(about) !== probe) return
      underWay.delete(about)
      probe.stream?.reservation?.()?.release()
      onResult(failure)
    }
    const probe: Probe = { sinceMs: needs.clock.monotonic(), stream: undefined, end }
    underWay.set(about, probe)
    try {
      probe.stream = send(target, end)
    } catch (error) {
      underWay.delete(about)
      needs.onBug(error)
      return false
    }
    return true
  }

  function send(
    { provider, model, credential, outputTokens = 1 }: ProbeTarget,
    end: (failure: Failure | undefined) => void,
  ): UpstreamStream {
    const vectors = needs.vectors(provider.id, model)
    const upstreamRequest = {
      requestId: needs.newId(),
      accountId: '',
      chat: vectors === undefined ? PROBE_CHAT : PROBE_EMBEDDING,
      vectors,
      credential,
      model,
      outputTokens,
      outputBound: outputTokens,
      identifiers: {},
      accountMark: 'probe',
      totalMsMax: needs.probeTimeoutMs,
      onSent: () => undefined,
    }
    return needs.adapters.get(provider).call(upstreamRequest, { chunks: () => undefined, whole: () => undefined, end })
  }

  return {
    start,
    prune() {
      const before = needs.clock.monotonic() - 2 * needs.probeTimeoutMs
      for (const { sinceMs, stream, end } of underWay.values()) {
        if (sinceMs >= before) continue
        stream?.abort()
        end(new Failure('timeout', 'no response to a probe'))
      }
    },
    close() {
      for (const { stream } of underWay.values()) stream?.abort()
      underWay.clear()
    },
  }
}

type Probe = { readonly sinceMs: number; stream: UpstreamStream | undefined; end(failure: Failure | undefined): void }

const PROBE_CHAT = parseChat({ model: 'probe', messages: [{ role: 'user', content: 'Say OK.' }], max_tokens: 1 })
const PROBE_EMBEDDING = parseEmbeddings({ model: 'probe', input: 'OK' })
