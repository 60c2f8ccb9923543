// A request that runs on writes down, now and then, what a crash would bill for it: who was called, the prompt, and the
// output so far. Nobody waits for it, and the tokenizer, which settlements need, is left alone.
import type { Model } from '../domain/catalog.ts'
import { outputBoundOf } from '../domain/chat-models.ts'
import { costOf } from '../domain/credits.ts'
import type { OutputSeen } from '../domain/handoff.ts'
import { readUsage } from '../domain/metering.ts'
import type { Alarms } from '../lib/coarse-timers.ts'
import type { Gates } from '../store/contract/store.ts'
import { type Held, priceOf } from './settle.ts'

export type CheckpointNeeds = {
  readonly gates: Pick<Gates, 'checkpoint'>
  readonly checkpointFirstMs: number
  readonly checkpointEveryMs: number
  readonly alarms: Alarms
}

export type Progress = { readonly provider: string; readonly model: Model; readonly at: number }

export type Checkpoints = {
  // Who was called has failed: a crash before somebody else is called bills nothing.
  failed(): void
  stop(): void
}

export function keepCheckpoints(
  held: Held,
  seen: { readonly usage: unknown; output(): OutputSeen },
  progress: () => Progress | undefined,
  needs: CheckpointNeeds,
): Checkpoints {
  // Only what came since the last mark is measured: a long stream is not gone through from its beginning every time.
  const measured: number[] = []
  let bytes = 0
  let isMarked = false

  function estimateOutput({ texts, bytesBeyond }: OutputSeen): number {
    for (const [choice, text] of texts.entries()) {
      bytes += Buffer.byteLength(text.slice(measured[choice] ?? 0))
      measured[choice] = text.length
    }
    return tokensOf(bytes + bytesBeyond)
  }

  function mark(): void {
    const called = progress()
    if (called !== undefined) {
      const { model } = called
      const reported = readUsage(seen.usage)
      const estimate = estimateOutput(seen.output())
      const tokens = {
        prompt: Math.min(reported.prompt || estimatePrompt(held, model), model.contextLength),
        cached: 0,
        cacheWrite: 0,
        completion: Math.min(
          Math.max(reported.completion ?? 0, estimate),
          held.chat.n * outputBoundOf(model, held.capTokens),
        ),
        reasoning: 0,
      }
      isMarked = true
      const price = priceOf(model, held)
      if (price.price !== null) held.pricedOtherwise = true
      needs.gates.checkpoint({
        requestId: held.requestId,
        dispatchedAt: called.at,
        provider: called.provider,
        model: model.id,
        tokens,
        cost: costOf(tokens, model.prices),
        ...price,
      })
    }
    alarm = needs.alarms.set(needs.checkpointEveryMs, mark)
  }

  function failed(): void {
    if (!isMarked) return
    isMarked = false
    needs.gates.checkpoint({ requestId: held.requestId, provider: null })
  }

  let alarm = needs.alarms.set(needs.checkpointFirstMs, mark)
  return { failed, stop: () => alarm.cancel() }
}

// What most tokenizers make of most texts. Here it is not to be a bound: whoever was served when the process died should
// not pay twice for it.
const BYTES_PER_TOKEN = 4

function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function estimatePrompt({ chat }: Held, model: Model): number {
  return tokensOf(chat.promptBytes) + chat.media.length * model.mediaMaxTokens
}
