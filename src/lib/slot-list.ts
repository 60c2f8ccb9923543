// A list of what is there now, joined and left thousands of times a second. Slots are used again, so that nothing that has left is
// referred to any more; the old tables that a Set leaves behind when it rehashes still refer to it until they are collected.

export type SlotList<T> = {
  // Returns its removal, which has an effect once.
  add(item: T): () => void
  readonly size: number
  [Symbol.iterator](): Iterator<T>
}

export function slotList<T>(): SlotList<T> {
  const slots: (T | undefined)[] = []
  const free: number[] = []
  let size = 0

  return {
    add(item) {
      const slot = free.pop() ?? slots.length
      slots[slot] = item
      size += 1
      let isThere = true
      return () => {
        if (!isThere) return
        isThere = false
        slots[slot] = undefined
        free.push(slot)
        size -= 1
      }
    },
    get size() {
      return size
    },
    *[Symbol.iterator]() {
      for (const item of slots) if (item !== undefined) yield item
    },
  }
}
