// Upstream usage is believed only within bounds: each count is judged by itself, replaced by an estimate when it cannot
// be true, and clamped, never lowered, when it is above what could be. Pure.
import type { Tokens } from './credits.ts'

export type Reported = {
  readonly prompt: number | undefined
  readonly completion: number | undefined
  readonly cached: number
  readonly cacheWrite: number
  readonly reasoning: number
}

export type MeterBounds = { readonly prompt: number; readonly completion: number }
export type Estimates = { readonly prompt: () => Promise<number>; readonly completion: () => Promise<number> }

export type Judged = { readonly tokens: Tokens; readonly source: 'upstream' | 'estimate'; readonly clamped: boolean }

// `prompt_tokens` includes what was cached, as OpenAI means it.
export function readUsage(value: unknown): Reported {
  const usage = record(value)
  const promptDetails = record(usage.prompt_tokens_details)
  const completionDetails = record(usage.completion_tokens_details)
  return {
    prompt: count(usage.prompt_tokens),
    completion: count(usage.completion_tokens),
    cached: count(promptDetails.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? 0,
    cacheWrite: count(promptDetails.cache_write_tokens) ?? count(promptDetails.cache_creation_tokens) ?? 0,
    reasoning: count(completionDetails.reasoning_tokens) ?? 0,
  }
}

// A finished answer. Zero for a prompt that was not empty, or for output that was seen, is no count.
export async function judge(
  reported: Reported,
  bounds: MeterBounds,
  seen: { readonly output: boolean; readonly finished: boolean },
  estimates: Estimates,
): Promise<Judged> {
  const believable = reported.prompt !== undefined && reported.prompt > 0
  const prompt = believable ? (reported.prompt as number) : await estimates.prompt()
  const completion = await completionOf(reported.completion, seen, estimates)

  const tokens = {
    prompt: Math.min(prompt, bounds.prompt),
    completion: Math.min(completion.count, bounds.completion),
  }
  const cacheFits = reported.cached + reported.cacheWrite <= tokens.prompt
  return {
    tokens: {
      ...tokens,
      cached: cacheFits ? reported.cached : 0,
      cacheWrite: cacheFits ? reported.cacheWrite : 0,
      reasoning: reported.reasoning <= tokens.completion ? reported.reasoning : 0,
    },
    source: believable && completion.believed ? 'upstream' : 'estimate',
    clamped: prompt > bounds.prompt || completion.count > bounds.completion,
  }
}

async function completionOf(
  reported: number | undefined,
  seen: { readonly output: boolean; readonly finished: boolean },
  estimates: Estimates,
): Promise<{ count: number; believed: boolean }> {
  const believable = reported !== undefined && (reported > 0 || !seen.output)
  if (seen.finished && believable) return { count: reported, believed: true }
  if (!seen.output) return { count: reported ?? 0, believed: believable }
  const estimate = await estimates.completion()
  // An unfinished stream: the upstream's last count may lag behind what was read, or be ahead of it.
  if (!seen.finished && believable && reported >= estimate) return { count: reported, believed: true }
  return { count: estimate, believed: false }
}

// A whole number that is too large to be true is still above its bound, and is to be clamped, not estimated.
function count(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0
    ? Math.min(value as number, Number.MAX_SAFE_INTEGER)
    : undefined
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
