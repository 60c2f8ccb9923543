// Validates upstream usage: each count is metered separately, replaced by an estimate when it is impossible, and clamped, never
// lowered, when it is above the maximum. Pure.
import type { Tokens } from './credits.ts'

export type Reported = {
  readonly prompt: number | undefined
  readonly completion: number | undefined
  readonly cached: number
  readonly cacheWrite: number
  // Part of `cacheWrite`; undefined where the upstream does not tell.
  readonly cacheWrite1h: number | undefined
  // Without those read from the cache, as far as the upstream tells them apart.
  readonly image: number
  readonly audio: number
  readonly reasoning: number
}

export type MeterBounds = { readonly prompt: number; readonly completion: number }
// Computed only where `unknowns` requests them; a plausible count needs no estimate.
export type Estimates = { readonly prompt: number; readonly completion: number }
type Seen = {
  readonly output: boolean
  readonly finished: boolean
  // The caller left, and less may have been read than was produced: without the upstream's final count, the maximum is billed.
  readonly unseen: boolean
  // The caller requested a cache of one hour: writes of unknown lifetime are billed as such.
  readonly longCache?: boolean
  // The prompt had images, audio or files: without any, none can have been counted.
  readonly media?: boolean
}

export type MeteredUsage = {
  readonly tokens: Tokens
  readonly source: 'upstream' | 'estimate'
  readonly clamped: boolean
}

// `prompt_tokens` includes cached tokens, as in OpenAI's API.
export function readUsage(value: unknown): Reported {
  const usage = record(value)
  const promptDetails = record(usage.prompt_tokens_details)
  const completionDetails = record(usage.completion_tokens_details)
  return {
    prompt: count(usage.prompt_tokens),
    completion: count(usage.completion_tokens),
    cached: count(promptDetails.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? 0,
    cacheWrite: count(promptDetails.cache_write_tokens) ?? count(promptDetails.cache_creation_tokens) ?? 0,
    cacheWrite1h: count(promptDetails.cache_write_1h_tokens),
    image: uncached(promptDetails, 'image_tokens'),
    audio: uncached(promptDetails, 'audio_tokens'),
    reasoning: count(completionDetails.reasoning_tokens) ?? 0,
  }
}

function uncached(details: Readonly<Record<string, unknown>>, name: string): number {
  const all = count(details[name]) ?? 0
  return all === 0 ? 0 : Math.max(0, all - (count(record(details.cached_tokens_details)[name]) ?? 0))
}

// For any answer, finished or not. Zero for a non-empty prompt, or for output that was received, is not a valid count.
export function meterUsage(reported: Reported, bounds: MeterBounds, seen: Seen, estimates: Estimates): MeteredUsage {
  const believable = believesPrompt(reported)
  const prompt = believable ? (reported.prompt as number) : estimates.prompt
  const completion = completionOf(reported.completion, bounds.completion, seen, estimates)

  const tokens = {
    prompt: Math.min(prompt, bounds.prompt),
    completion: Math.min(completion.count, bounds.completion),
  }
  const cacheFits = reported.cached + reported.cacheWrite <= tokens.prompt
  const cached = cacheFits ? reported.cached : 0
  const cacheWrite = cacheFits ? reported.cacheWrite : 0
  const media = seen.media === true ? mediaOf(reported, tokens.prompt, tokens.prompt - cached - cacheWrite) : NO_MEDIA
  return {
    tokens: {
      ...tokens,
      cached,
      cacheWrite,
      cacheWrite1h: cacheFits ? longWrites(reported, seen) : 0,
      image: media.image,
      audio: media.audio,
      reasoning: reported.reasoning <= tokens.completion ? reported.reasoning : 0,
    },
    source: believable && completion.believed ? 'upstream' : 'estimate',
    clamped: prompt > bounds.prompt || completion.count > bounds.completion,
  }
}

// Where the upstream does not tell which part of the cached tokens was media, all of it is taken for text.
function mediaOf(reported: Reported, prompt: number, fresh: number): Pick<Tokens, 'image' | 'audio'> {
  const image = reported.image <= prompt ? reported.image : 0
  const audio = reported.audio <= prompt ? reported.audio : 0
  if (image + audio > prompt) return NO_MEDIA
  const freshAudio = Math.min(audio, fresh)
  return { image: Math.min(image, fresh - freshAudio), audio: freshAudio }
}

const NO_MEDIA = { image: 0, audio: 0 }

function longWrites({ cacheWrite, cacheWrite1h: told }: Reported, { longCache }: Seen): number {
  const written = told ?? (longCache === true ? cacheWrite : 0)
  return written <= cacheWrite ? written : 0
}

// The counts that `meterUsage` will replace by an estimate or compare with one.
export function unknowns(reported: Reported, seen: Seen): { readonly prompt: boolean; readonly completion: boolean } {
  return {
    prompt: !believesPrompt(reported),
    completion: seen.output && !seen.unseen && !(seen.finished && believesCompletion(reported.completion, seen)),
  }
}

function completionOf(
  reported: number | undefined,
  bound: number,
  seen: Seen,
  estimates: Estimates,
): { readonly count: number; readonly believed: boolean } {
  const believable = believesCompletion(reported, seen)
  if (seen.finished && believable) return { count: reported, believed: true }
  if (seen.unseen) return { count: bound, believed: false }
  if (!seen.output) return { count: reported ?? 0, believed: believable }
  // An unfinished stream: the upstream's last count may be lower or higher than what was read.
  if (!seen.finished && believable && reported >= estimates.completion) return { count: reported, believed: true }
  return { count: estimates.completion, believed: false }
}

function believesPrompt({ prompt }: Reported): boolean {
  return prompt !== undefined && prompt > 0
}

function believesCompletion(reported: number | undefined, seen: Seen): reported is number {
  return reported !== undefined && (reported > 0 || !seen.output)
}

// A whole number that is too large to be true is above its maximum and is clamped, not estimated.
function count(value: unknown): number | undefined {
  return Number.isInteger(value) && (value as number) >= 0
    ? Math.min(value as number, Number.MAX_SAFE_INTEGER)
    : undefined
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
