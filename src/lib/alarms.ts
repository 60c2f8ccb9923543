// Timers for what almost never comes to pass: every request sets several and takes them back. Setting one is a write into
// a list that one interval looks through; Node's own take most of a microsecond each. One goes off up to a tick late.
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
      const entry: Entry = { due: clock.monotonic() + ms, ring, place: -1, cancelled: false }
      put(entry)
      return {
        again() {
          if (entry.cancelled) return
          entry.due = clock.monotonic() + ms
          if (entry.place < 0) put(entry)
        },
        cancel() {
          entry.cancelled = true
          take(entry)
        },
      }
    },
  }
}

type Entry = { due: number; readonly ring: () => void; place: number; cancelled: boolean }
