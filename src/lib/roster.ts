// Those who are here now: joining and leaving thousands of times a second. A place is emptied and used again, so nothing
// that has left is pointed at any more; the dead tables that a Set leaves behind when it rehashes may still do so.

export type Roster<T> = {
  // Gives the way to leave; leaving twice is harmless.
  join(one: T): () => void
  readonly size: number
  [Symbol.iterator](): Iterator<T>
}

export function roster<T>(): Roster<T> {
  const places: (T | undefined)[] = []
  const free: number[] = []
  let size = 0

  return {
    join(one) {
      const place = free.pop() ?? places.length
      places[place] = one
      size += 1
      let here = true
      return () => {
        if (!here) return
        here = false
        places[place] = undefined
        free.push(place)
        size -= 1
      }
    },
    get size() {
      return size
    },
    *[Symbol.iterator]() {
      for (const one of places) if (one !== undefined) yield one
    },
  }
}
