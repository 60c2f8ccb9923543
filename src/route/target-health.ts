// What is known of a target, a provider's model: how many requests it has now, how soon it begins to answer, and how often
// it fails. Figures for choosing and for operators to look at; whether it may be called is the breaker's word.
import { add, type Decaying, meanOf, nothingYet, weightAt } from '../lib/ewma.ts'

export type Health = {
  inFlight: number
  // Since the process began to know it.
  requests: number
  failures: number
  readonly successes: Decaying
  // Of streams and of JSON apart: an upstream answers a JSON call only when it is done.
  readonly streamFirstByteMs: Decaying
  readonly jsonFirstByteMs: Decaying
}

export function newHealth(): Health {
  return {
    inFlight: 0,
    requests: 0,
    failures: 0,
    successes: nothingYet(),
    streamFirstByteMs: nothingYet(),
    jsonFirstByteMs: nothingYet(),
  }
}

export function tookRequest(health: Health): void {
  health.inFlight += 1
  health.requests += 1
}

export function beganToAnswer(health: Health, stream: boolean, tookMs: number, nowMs: number): void {
  add(stream ? health.streamFirstByteMs : health.jsonFirstByteMs, tookMs, nowMs, FIRST_BYTE_HALF_LIFE_MS)
}

export function endedWell(health: Health, nowMs: number): void {
  add(health.successes, 1, nowMs, SUCCESS_HALF_LIFE_MS)
}

export function endedBadly(health: Health, nowMs: number): void {
  health.failures += 1
  add(health.successes, 0, nowMs, SUCCESS_HALF_LIFE_MS)
}

// Undefined: not known, or so long ago that it is worth finding out again.
export function firstByteMs(health: Health, stream: boolean, nowMs: number): number | undefined {
  const times = stream ? health.streamFirstByteMs : health.jsonFirstByteMs
  return weightAt(times, nowMs, FIRST_BYTE_HALF_LIFE_MS) < FIRST_BYTE_WEIGHT_MIN ? undefined : meanOf(times)
}

// Whatever is known, however old; for operators.
export function usualFirstByteMs(health: Health): number | null {
  return meanOf(health.streamFirstByteMs) ?? meanOf(health.jsonFirstByteMs) ?? null
}

export function successRate(health: Health): number | null {
  return meanOf(health.successes) ?? null
}

const FIRST_BYTE_HALF_LIFE_MS = 20_000
const SUCCESS_HALF_LIFE_MS = 60_000
// What one answer weighs after two half-lives.
const FIRST_BYTE_WEIGHT_MIN = 0.25
