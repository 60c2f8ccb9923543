// Counts the prompt of an account that cannot afford one token per byte, before it is refused. The work is unpaid until the
// reservation succeeds, so each account has an allowance; beyond it the byte bound stands.
import type { Chat } from '../domain/chat.ts'
import { nativeText } from '../domain/native-prompt.ts'
import { type CountedPrompt, promptTexts, type Tokenizer } from '../domain/prompt.ts'
import type { Clock } from '../lib/clock.ts'
import { type Bucket, fullBucket, isFull, standing } from '../lib/token-bucket.ts'
import type { TokenCounter } from '../lib/token-counter.ts'

export type PromptCounts = {
  // Undefined: it could not be counted, or not in time, and the byte bound stands.
  count(
    chat: Chat,
    encodings: ReadonlySet<Tokenizer['encoding']>,
    accountId: string,
  ): Promise<CountedPrompt | undefined>
  // Drops full allowances, which carry no information.
  prune(): void
}

export type PromptCountNeeds = {
  readonly counters: Readonly<Record<Tokenizer['encoding'], Pick<TokenCounter, 'count'>>>
  readonly clock: Clock
  readonly holdCountMsMax: number
  readonly holdCountBytesMax: number
  readonly holdCountsPerAccountMax: number
  readonly holdCountMsPerMinute: number
}

export function promptCounts(needs: PromptCountNeeds): PromptCounts {
  const { counters, clock, holdCountMsPerMinute } = needs
  // Milliseconds of work, and the number of prompts of the account that are being counted.
  const allowances = new Map<string, { readonly bucket: Bucket; counting: number }>()

  function allowanceOf(accountId: string) {
    let allowance = allowances.get(accountId)
    if (allowance === undefined) {
      allowance = { bucket: fullBucket(holdCountMsPerMinute, clock.monotonic()), counting: 0 }
      allowances.set(accountId, allowance)
    }
    return allowance
  }

  async function count(chat: Chat, encodings: ReadonlySet<Tokenizer['encoding']>, accountId: string) {
    if (chat.promptBytes > needs.holdCountBytesMax) return undefined
    const allowance = allowanceOf(accountId)
    const { remaining } = standing(allowance.bucket, holdCountMsPerMinute, clock.monotonic())
    if (remaining === 0 || allowance.counting >= needs.holdCountsPerAccountMax) return undefined
    allowance.counting += 1
    try {
      const counted = await countAll([...promptTexts(chat.messages, chat.forwarded)])
      const native = nativeText(chat)
      if (counted === undefined || native === undefined) return counted
      // A provider that speaks the caller's dialect reads more than the translation has.
      const own = await countAll([native])
      return own && larger(counted, own)
    } finally {
      allowance.counting -= 1
    }

    async function countAll(texts: readonly string[]): Promise<CountedPrompt | undefined> {
      const tokens = { o200k: 0, cl100k: 0 }
      for (const encoding of encodings) {
        // Separate from the counter that the account's settlements use.
        const counted = await counters[encoding].count(texts, `hold ${accountId}`, needs.holdCountMsMax)
        allowance.bucket.tokens -= counted.workMs
        if (!counted.exact) return undefined
        tokens[encoding] = counted.tokens
      }
      return { tokens, texts: texts.length }
    }
  }

  return {
    count,
    prune() {
      const now = clock.monotonic()
      for (const [id, { bucket, counting }] of allowances) {
        if (counting === 0 && isFull(bucket, now)) allowances.delete(id)
      }
    },
  }
}

function larger(one: CountedPrompt, other: CountedPrompt): CountedPrompt {
  return {
    tokens: {
      o200k: Math.max(one.tokens.o200k, other.tokens.o200k),
      cl100k: Math.max(one.tokens.cl100k, other.tokens.cl100k),
    },
    texts: Math.max(one.texts, other.texts),
  }
}
