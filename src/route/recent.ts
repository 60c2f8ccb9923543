// Counts a target's requests and failures of the last ten minutes, minute by minute: figures that an operator can check, all of
// the same requests. Decaying means, which the ranking uses, keep the last failure of a quiet target visible for hours.

import { RECENT_MINUTES } from '../domain/routing.ts'

type Minute = { minute: number; ended: number; failures: number; answered: number; firstByteMs: number }
export type Recent = readonly Minute[]

export type RecentView = {
  readonly requests: number
  readonly failures: number
  // The mean; null if nothing was answered.
  readonly firstByteMs: number | null
}

export function nothingRecent(): Recent {
  return Array.from({ length: RECENT_MINUTES }, () => ({ ...EMPTY }))
}

const EMPTY: Minute = { minute: -1, ended: 0, failures: 0, answered: 0, firstByteMs: 0 }

export function countEnd(recent: Recent, isFailure: boolean, nowMs: number): void {
  const minute = minuteAt(recent, nowMs)
  minute.ended += 1
  if (isFailure) minute.failures += 1
}

export function countAnswer(recent: Recent, tookMs: number, nowMs: number): void {
  const minute = minuteAt(recent, nowMs)
  minute.answered += 1
  minute.firstByteMs += tookMs
}

export function recentAt(recent: Recent, nowMs: number): RecentView {
  const oldest = Math.floor(nowMs / 60_000) - RECENT_MINUTES
  const sum = { ...EMPTY }
  for (const each of recent) {
    if (each.minute <= oldest) continue
    sum.ended += each.ended
    sum.failures += each.failures
    sum.answered += each.answered
    sum.firstByteMs += each.firstByteMs
  }
  const firstByteMs = sum.answered === 0 ? null : sum.firstByteMs / sum.answered
  return { requests: sum.ended, failures: sum.failures, firstByteMs }
}

function minuteAt(recent: Recent, nowMs: number): Minute {
  const minute = Math.floor(nowMs / 60_000)
  const found = recent[minute % RECENT_MINUTES] as Minute
  if (found.minute !== minute) Object.assign(found, EMPTY, { minute })
  return found
}
