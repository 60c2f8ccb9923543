// Takes halves of surrogate pairs out of a parsed JSON value, since each costs a serialiser a hundred times what another character does.

// In place where it can be; recursive, for values whose depth was guarded. U+FFFD stands for each half.
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
