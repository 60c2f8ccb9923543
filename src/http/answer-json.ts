// The parts of OpenAI's answer that both sinks write, as text: money is written as exact digits, never through a float.
import { formatCredits } from '../domain/credits.ts'
import type { Receipt } from '../domain/handoff.ts'
import type { Considered } from '../domain/routing.ts'

export const OUR_FINGERPRINT = 'fp_turnpike'

export function usageJson({ tokens, cost }: Receipt): string {
  return (
    `{"prompt_tokens":${tokens.prompt},"completion_tokens":${tokens.completion},` +
    `"total_tokens":${tokens.prompt + tokens.completion},` +
    `"prompt_tokens_details":{"cached_tokens":${tokens.cached}},` +
    `"completion_tokens_details":{"reasoning_tokens":${tokens.reasoning}},"cost":${formatCredits(cost)}}`
  )
}

// The candidates in order, with reasons.
export function metadataJson({ considered }: { readonly considered: readonly Considered[] }): string {
  return `"metadata":${JSON.stringify({ candidates: considered })}`
}

// Names of omitted fields as a header value: visible ASCII, bounded.
export function ignoredHeader(names: readonly string[]): string {
  return names
    .slice(0, 32)
    .map(name => name.replace(/[^\x21-\x2b\x2d-\x7e]/g, '?').slice(0, 64))
    .join(', ')
}
