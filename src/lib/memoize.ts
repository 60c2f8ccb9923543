// Computes a value from an immutable object once and keeps it as long as the object lives.

export function memoize<K extends object, V>(workOut: (from: K) => V): (from: K) => V {
  const known = new WeakMap<K, V>()
  return from => {
    let value = known.get(from)
    if (value === undefined) {
      value = workOut(from)
      known.set(from, value)
    }
    return value
  }
}
