// A map of bounded size that evicts the least recently used entry. A Map keeps insertion order, so a used entry is removed and
// inserted again.

export type Lru<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): boolean
  clear(): void
  readonly size: number
}

// V must not include undefined, which is what get returns for a missing entry. `onEvicted` is called for entries evicted for lack
// of space.
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
