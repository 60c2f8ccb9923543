// Coarse timers for timeouts that almost never fire: every request sets and cancels several. Setting one is a write into a list
// that one interval scans; Node's own timers take most of a microsecond each. A timer fires up to one tick late. See
// docs/performance.md.
import type { Clock } from './clock.ts'

export type CoarseTimers = { set(ms: number, ring: () => void): CoarseTimer }

export type CoarseTimer = {
  // Restarts the full time, also after it fired.
  again(): void
  // Permanently.
  cancel(): void
}

const TICK_MS = 50

// An error thrown by a callback is reported and does not stop the others.
export function coarseTimers(clock: Clock, onBug: (error: unknown) => void): CoarseTimers {
  const places: (Entry | undefined)[] = []
  const free: number[] = []
  const list: List = { clock, put, take }
  let ticking: NodeJS.Timeout | undefined

  function put(entry: Entry): void {
    entry.place = free.pop() ?? places.length
    places[entry.place] = entry
    ticking ??= setInterval(tick, TICK_MS).unref()
  }

  function take(entry: Entry): void {
    if (entry.place < 0) return
    places[entry.place] = undefined
    free.push(entry.place)
    entry.place = -1
  }

  // Before the immediate the event loop reads what has arrived: a process that stood still for long finds first what cancels a timer.
  function tick(): void {
    setImmediate(ringDue, clock.monotonic())
  }

  function ringDue(now: number): void {
    for (const entry of places) {
      if (entry === undefined || entry.due > now) continue
      take(entry)
      try {
        entry.ring()
      } catch (error) {
        onBug(error)
      }
    }
    if (free.length < places.length) return
    places.length = free.length = 0
    clearInterval(ticking)
    ticking = undefined
  }

  return {
    set(ms, ring) {
      const entry = new Entry(ms, clock.monotonic() + ms, ring, list)
      put(entry)
      return entry
    },
  }
}

type List = { readonly clock: Clock; put(entry: Entry): void; take(entry: Entry): void }

// A class, so that a timer is a single small object: every request has several.
class Entry implements CoarseTimer {
  due: number
  place = -1
  readonly ring: () => void
  readonly #ms: number
  readonly #list: List
  #cancelled = false

  constructor(ms: number, due: number, ring: () => void, list: List) {
    this.#ms = ms
    this.due = due
    this.ring = ring
    this.#list = list
  }

  again(): void {
    if (this.#cancelled) return
    this.due = this.#list.clock.monotonic() + this.#ms
    if (this.place < 0) this.#list.put(this)
  }

  cancel(): void {
    this.#cancelled = true
    this.#list.take(this)
  }
}
