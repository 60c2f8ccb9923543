// Collects the conditions of a list's WHERE with their numbered parameters, so that the statement contains only requested filters
// and can use an index.
import type { Param } from './sql.ts'

export type Conditions = {
  // Each `?` in the text stands for the next value. Nothing is added for an undefined value.
  add(text: string, ...values: readonly (Param | undefined)[]): void
  // The number of a further parameter, for LIMIT and the like.
  param(value: Param): string
  where(): string
  readonly params: readonly Param[]
}

export function conditions(): Conditions {
  const texts: string[] = []
  const params: Param[] = []

  function param(value: Param): string {
    params.push(value)
    return `$${params.length}`
  }

  return {
    add(text, ...values) {
      const given = values.filter(value => value !== undefined)
      if (given.length < values.length) return
      let next = 0
      texts.push(text.replace(/\?/g, () => param(given[next++] as Param)))
    },
    param,
    where: () => (texts.length === 0 ? '' : `WHERE ${texts.join(' AND ')}`),
    params,
  }
}

// For `LIKE … ESCAPE '!'`: the caller's wildcards are plain characters.
export function containing(words: string): string {
  return `%${words.replace(/[!%_]/g, '!$&')}%`
}
