// Records the statements that read, with the parameters of their last use.
import type { Sql } from '../../src/store/sql/sql.ts'

export function watchedReads(sql: Sql): { readonly watched: Sql; readonly texts: Map<string, readonly unknown[]> } {
  const texts = new Map<string, readonly unknown[]>()
  const watched: Sql = {
    ...sql,
    all(text, params = []) {
      texts.set(text, params)
      return sql.all(text, params)
    },
    get(text, params = []) {
      texts.set(text, params)
      return sql.get(text, params)
    },
  }
  return { watched, texts }
}
