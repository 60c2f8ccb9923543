// Replaces lone surrogates in a parsed JSON value, since each costs a serialiser a hundred times as much as another character.

// In place where possible; recursive, for values whose depth was checked. Each lone surrogate becomes U+FFFD.
export function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  const record = value as Record<string, unknown>
  for (const name of Object.keys(record)) {
    const inner = record[name]
    const made = wellFormed(inner)
    const isNameWell = name.isWellFormed()
    if (made === inner && isNameWell) continue
    if (!isNameWell) delete record[name]
    record[name.toWellFormed()] = made
  }
  return record
}
