// Timers for what almost never comes to pass: every request sets several and takes them back. Setting one is a write into
// a list that one interval looks through; Node's own take most of a microsecond each. One goes off up to a tick late.
// See docs/performance.md.
import type { Clock } from './clock.ts'

export type Alarms = { set(ms: number, ring: () => void): Alarm }

export type Alarm = {
  // From now on the whole time again, also after it went off.
  again(): void
  // For good.
  cancel(): void
}

const TICK_MS = 50

// What a ring throws is told, and keeps no other from going off.
export function alarms(clock: Clock, onBug: (error: unknown) => void): Alarms {
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

  function tick(): void {
    const now = clock.monotonic()
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

// A class, so that one is a single small object: there are several for every request.
class Entry implements Alarm {
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
