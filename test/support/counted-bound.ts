// Repeats the bound of an account that cannot afford the bytes of its prompt. A file of its own, because loading the tokenizer
// takes longer than everything else that a test process loads.
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'

// If the model's tokenizer is not OpenAI's: one and a half times the tokens, plus one for each text.
export function countedBound(messages: readonly { readonly content: string }[]): number {
  const tokens = countTokens(messages.map(({ content }) => content).join('\n'))
  return Math.ceil((tokens + messages.length) * 1.5) + 16 * messages.length
}
