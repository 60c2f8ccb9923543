// Which models a key may use: ids, aliases and patterns with `*`; an empty list is no restriction.
import { memoize } from '../lib/memoize.ts'
import { starPattern } from '../lib/star-pattern.ts'
import type { Model } from './catalog.ts'
import { Refusal } from './refusal.ts'
import { storable } from './usage.ts'

// By its id, by an alias, or by the name that the caller used, which an alias with stars may match.
export function isAllowed(list: readonly string[], model: Model, name?: string): boolean {
  if (list.length === 0) return true
  const { hasModel, hasName } = readList(list)
  return hasModel(model) || (name !== undefined && hasName(name))
}

// Lists and models are immutable: each list is compiled once, and each of its models decided once.
const readList = memoize((list: readonly string[]) => {
  const patterns = list.map(starPattern)
  const hasName = (name: string) => patterns.some(matches => matches(name))
  const hasModel = memoize(({ id, aliases }: Model) => hasName(id) || aliases.some(hasName))
  return { hasName, hasModel }
})

export function modelNotAllowed(name: string): Refusal {
  return new Refusal('model_not_allowed', {
    param: 'model',
    message: `This key may not use the model ${JSON.stringify(storable(name, 100))}.`,
  })
}
