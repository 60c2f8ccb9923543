// Checkpoints of a long-running request: what a crash would bill for it, with the target, the prompt and the output so far.
// Nothing waits for them, and the tokenizer, which settlements need, is not used.
import type { Model } from '../domain/catalog.ts'
import { outputBoundOf } from '../domain/chat.ts'
import { costOf, NO_TOKENS } from '../domain/credits.ts'
import type { OutputSeen } from '../domain/handoff.ts'
import { readUsage } from '../domain/metering.ts'
import { promptMax } from '../domain/prompt.ts'
import type { CoarseTimers } from '../lib/coarse-timers.ts'
import type { BillingStore } from '../store/contract/store.ts'
import { type Held, priceOf } from './settle.ts'

export type CheckpointNeeds = {
  readonly billing: Pick<BillingStore, 'checkpoint'>
  readonly checkpointFirstMs: number
  readonly checkpointEveryMs: number
  readonly timers: CoarseTimers
}

export type Progress = { readonly provider: string; readonly model: Model; readonly at: number }

export type Checkpoints = {
  // The called target has failed: a crash before the next one is called bills nothing.
  failed(): void
  stop(): void
}

export function keepCheckpoints(
  held: Held,
  seen: { readonly usage: unknown; output(): OutputSeen },
  progress: () => Progress | undefined,
  needs: CheckpointNeeds,
): Checkpoints {
  // Only output since the last checkpoint is measured: a long stream is not scanned from its beginning every time.
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
        ...NO_TOKENS,
        prompt: Math.min(reported.prompt || estimatePrompt(held, model), promptMax(held.chat, model)),
        completion: Math.min(
          Math.max(reported.completion ?? 0, estimate),
          held.chat.n * outputBoundOf(model, held.capTokens),
        ),
      }
      isMarked = true
      const price = priceOf(model, held)
      if (price.price !== null) held.pricedOtherwise = true
      needs.billing.checkpoint({
        requestId: held.requestId,
        dispatchedAt: called.at,
        provider: called.provider,
        model: model.id,
        tokens,
        cost: costOf(tokens, model.prices),
        ...price,
      })
    }
    alarm = needs.timers.set(needs.checkpointEveryMs, mark)
  }

  function failed(): void {
    if (!isMarked) return
    isMarked = false
    needs.billing.checkpoint({ requestId: held.requestId, provider: null })
  }

  let alarm = needs.timers.set(needs.checkpointFirstMs, mark)
  return { failed, stop: () => alarm.cancel() }
}

// A typical ratio, not an upper bound: a caller that was being served when the process died should not pay twice.
const BYTES_PER_TOKEN = 4

function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

function estimatePrompt({ chat }: Held, model: Model): number {
  // A list of tokens was counted, not measured.
  if (typeof chat.embedding?.inputs[0] === 'object') return chat.promptBytes
  return tokensOf(chat.promptBytes) + chat.media.length * model.mediaMaxTokens
}
