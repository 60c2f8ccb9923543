// A map of bounded size that evicts entries which have not been used for long. Entries are linked in the order of their use, as far
// as it matters: one after which fewer than half of the capacity were appended stays where it is, since moving it writes to three
// others, which are rarely in the processor's cache. So what is evicted was unused while half of the capacity was used. A Map keeps
// the order of insertion too, but an entry that is removed and inserted again with every use leaves a hole in its table, which is
// copied again and again where thousands of entries are in use.

export type Lru<K, V> = {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): boolean
  clear(): void
  readonly size: number
}

type Entry<K, V> = {
  readonly key: K
  // What it is found by: its key or its number.
  readonly slot: K | number
  value: V
  older: Entry<K, V> | undefined
  newer: Entry<K, V> | undefined
  // How many entries had been appended when it was.
  appended: number
}

// V must not include undefined, which is what get returns for a missing entry. `onEvicted` is called for entries evicted for lack
// of space. `hashOf` gives a number by which a key, which must not be a number then, is found faster than by itself; of keys with
// the same number only one is.
export function lru<K, V>(max: number, onEvicted?: (key: K, value: V) => void, hashOf?: (key: K) => number): Lru<K, V> {
  if (!Number.isSafeInteger(max) || max < 1) throw new RangeError('an LRU must be allowed at least one entry')
  const entries = new Map<K | number, Entry<K, V>>()
  let oldest: Entry<K, V> | undefined
  let newest: Entry<K, V> | undefined
  let appended = 0
  const half = Math.floor(max / 2)

  function append(entry: Entry<K, V>): void {
    appended += 1
    entry.appended = appended
    entry.older = newest
    entry.newer = undefined
    if (newest === undefined) oldest = entry
    else newest.newer = entry
    newest = entry
  }

  function unlink({ older, newer }: Entry<K, V>): void {
    if (older === undefined) oldest = newer
    else older.newer = newer
    if (newer === undefined) newest = older
    else newer.older = older
  }

  function use(entry: Entry<K, V>): void {
    if (entry === newest || appended - entry.appended < half) return
    unlink(entry)
    append(entry)
  }

  function remove(entry: Entry<K, V>): void {
    entries.delete(entry.slot)
    unlink(entry)
  }

  function find(key: K): Entry<K, V> | undefined {
    if (hashOf === undefined) return entries.get(key)
    const likely = entries.get(hashOf(key))
    return likely?.key === key ? likely : entries.get(key)
  }

  function freeSlot(key: K): K | number {
    if (hashOf === undefined) return key
    const hash = hashOf(key)
    return entries.has(hash) ? key : hash
  }

  return Object.freeze({
    get(key: K) {
      const entry = find(key)
      if (entry === undefined) return undefined
      use(entry)
      return entry.value
    },
    set(key: K, value: V) {
      const known = find(key)
      if (known !== undefined) {
        known.value = value
        use(known)
        return
      }
      if (entries.size >= max && oldest !== undefined) {
        const evicted = oldest
        remove(evicted)
        onEvicted?.(evicted.key, evicted.value)
      }
      const entry = { key, slot: freeSlot(key), value, older: undefined, newer: undefined, appended: 0 }
      entries.set(entry.slot, entry)
      append(entry)
    },
    delete(key: K) {
      const entry = find(key)
      if (entry !== undefined) remove(entry)
      return entry !== undefined
    },
    clear() {
      entries.clear()
      oldest = undefined
      newest = undefined
    },
    get size() {
      return entries.size
    },
  })
}
