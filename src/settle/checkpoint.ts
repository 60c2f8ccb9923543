// A request that runs on writes down, now and then, what a crash would bill for it: who was called, the prompt, and the
// output so far. Nobody waits for it.
import { costOf } from '../domain/credits.ts'
import type { OutputSeen } from '../domain/handoff.ts'
import { readUsage } from '../domain/metering.ts'
import type { Gates } from '../store/contract.ts'
import { estimateOutput, estimatePrompt, type Held, type TokenCounter } from './settle.ts'

export type CheckpointNeeds = {
  readonly gates: Pick<Gates, 'checkpoint'>
  readonly counter: TokenCounter
  readonly checkpointFirstMs: number
  readonly checkpointEveryMs: number
}

export type Progress = { readonly provider: string; readonly at: number }

export function keepCheckpoints(
  held: Held,
  seen: { readonly usage: unknown; output(): OutputSeen },
  progress: () => Progress | undefined,
  needs: CheckpointNeeds,
): Disposable {
  let stopped = false
  let promptTokens: number | undefined
  // Only what came since the last mark is counted: a long stream is not tokenized from its beginning every time.
  let counted = { tokens: 0, characters: 0 }

  async function countNew({ text, bytesBeyond }: OutputSeen): Promise<number> {
    const fresh = { text: text.slice(counted.characters), any: true, bytesBeyond: 0 }
    counted = { tokens: counted.tokens + (await estimateOutput(fresh, needs.counter)), characters: text.length }
    return counted.tokens + Math.ceil(bytesBeyond / 2)
  }

  async function mark(): Promise<void> {
    const called = progress()
    if (called !== undefined) {
      promptTokens ??= await estimatePrompt(held.chat, held.model, needs.counter)
      const reported = readUsage(seen.usage)
      const estimate = await countNew(seen.output())
      if (stopped) return
      const tokens = {
        prompt: Math.min(reported.prompt || promptTokens, held.model.contextLength),
        cached: 0,
        cacheWrite: 0,
        completion: Math.min(Math.max(reported.completion ?? 0, estimate), held.chat.n * held.outputTokens),
        reasoning: 0,
      }
      needs.gates.checkpoint({
        requestId: held.requestId,
        dispatchedAt: called.at,
        provider: called.provider,
        model: held.model.id,
        tokens,
        cost: costOf(tokens, held.model.prices),
      })
    }
    if (!stopped) timer = setTimeout(mark, needs.checkpointEveryMs)
  }

  let timer = setTimeout(mark, needs.checkpointFirstMs)
  return {
    [Symbol.dispose]() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
