// The names of accounts and keys by their IDs, read once each and kept within a bound.
import type { Client } from './http-client.ts'
import { nameById } from './lookup.ts'

export type ObjectNames = {
  // The ID itself if the object has no name that can be read.
  of(noun: 'account' | 'key', id: string): Promise<string>
  // The same for many, a few at a time.
  ofAll(noun: 'account' | 'key', ids: readonly string[]): Promise<readonly string[]>
}

const KEPT_MAX = 1000
const AT_ONCE = 8

export function objectNames(client: Client): ObjectNames {
  const kept = new Map<string, Promise<string>>()

  function of(noun: 'account' | 'key', id: string): Promise<string> {
    const known = kept.get(id)
    if (known !== undefined) return known
    const [oldest] = kept.keys()
    if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest)
    const read = nameById(noun, id, client).then(name => name ?? id)
    kept.set(id, read)
    return read
  }

  async function ofAll(noun: 'account' | 'key', ids: readonly string[]): Promise<readonly string[]> {
    const names: string[] = []
    for (let at = 0; at < ids.length; at += AT_ONCE)
      names.push(...(await Promise.all(ids.slice(at, at + AT_ONCE).map(id => of(noun, id)))))
    return names
  }

  return { of, ofAll }
}
