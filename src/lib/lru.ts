// A map of bounded size that forgets what was used longest ago. A Map keeps its order of insertion, so an entry that is
// used is taken out and put in again.

export type Lru<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): boolean
  clear(): void
  readonly size: number
}

// V must not include undefined: that is how get says that there is nothing. Told of what is forgotten for want of room.
export function lru<K, V>(max: number, onEvicted?: (key: K, value: V) => void): Lru<K, V> {
  if (!Number.isSafeInteger(max) || max < 1) throw new RangeError('an LRU must be allowed at least one entry')
  const entries = new Map<K, V>()
  let newest: K | undefined

  function evictOldest(): void {
    const [key, value] = entries.entries().next().value as [K, V]
    entries.delete(key)
    onEvicted?.(key, value)
  }

  return Object.freeze({
    get(key: K) {
      const value = entries.get(key)
      if (value === undefined || key === newest) return value
      entries.delete(key)
      entries.set(key, value)
      newest = key
      return value
    },
    set(key: K, value: V) {
      if (!entries.delete(key) && entries.size >= max) evictOldest()
      entries.set(key, value)
      newest = key
    },
    delete: (key: K) => entries.delete(key),
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  })
}
