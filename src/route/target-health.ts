// The health of a target, a provider's model: requests in flight, time to first content, and failure rate. Figures for ranking
// and for operators; the breaker decides whether it may be called.
import { add, type Ewma, meanOf, nothingYet, weightAt } from '../lib/ewma.ts'
import { countAnswer, countEnd, nothingRecent, type Recent } from './recent.ts'

export type Health = {
  inFlight: number
  // Since the process first saw it.
  requests: number
  failures: number
  readonly successes: Ewma
  // Separate for streams and JSON: an upstream answers a JSON call only when it is done.
  readonly streamFirstByteMs: Ewma
  readonly jsonFirstByteMs: Ewma
  readonly recent: Recent
}

export function newHealth(): Health {
  return {
    inFlight: 0,
    requests: 0,
    failures: 0,
    successes: nothingYet(),
    streamFirstByteMs: nothingYet(),
    jsonFirstByteMs: nothingYet(),
    recent: nothingRecent(),
  }
}

export function tookRequest(health: Health): void {
  health.inFlight += 1
  health.requests += 1
}

export function beganToAnswer(health: Health, stream: boolean, tookMs: number, nowMs: number): void {
  add(stream ? health.streamFirstByteMs : health.jsonFirstByteMs, tookMs, nowMs, FIRST_BYTE_HALF_LIFE_MS)
  countAnswer(health.recent, tookMs, nowMs)
}

export function endedWell(health: Health, nowMs: number): void {
  add(health.successes, 1, nowMs, SUCCESS_HALF_LIFE_MS)
  countEnd(health.recent, false, nowMs)
}

export function endedBadly(health: Health, nowMs: number): void {
  health.failures += 1
  add(health.successes, 0, nowMs, SUCCESS_HALF_LIFE_MS)
  countEnd(health.recent, true, nowMs)
}

// Undefined: not known, or so old that it is worth measuring again.
export function firstByteMs(health: Health, stream: boolean, nowMs: number): number | undefined {
  const times = stream ? health.streamFirstByteMs : health.jsonFirstByteMs
  return weightAt(times, nowMs, FIRST_BYTE_HALF_LIFE_MS) < FIRST_BYTE_WEIGHT_MIN ? undefined : meanOf(times)
}

// The last known value, however old; for operators.
export function usualFirstByteMs(health: Health): number | null {
  return meanOf(health.streamFirstByteMs) ?? meanOf(health.jsonFirstByteMs) ?? null
}

export function successRate(health: Health): number | null {
  return meanOf(health.successes) ?? null
}

const FIRST_BYTE_HALF_LIFE_MS = 20_000
const SUCCESS_HALF_LIFE_MS = 60_000
// The weight of one answer after two half-lives.
const FIRST_BYTE_WEIGHT_MIN = 0.25
