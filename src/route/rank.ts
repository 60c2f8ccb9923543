// In which order the targets of a model are tried: by priority, inside one priority by weighted chance. Pure but for the
// chance, which comes in.
import type { Target } from '../domain/catalog.ts'

export function rank(targets: readonly Target[], random: () => number): readonly Target[] {
  if (targets.length < 2) return targets
  return targets
    .map(target => ({ target, draw: -Math.log(1 - random()) / Math.max(target.weight, Number.MIN_VALUE) }))
    .sort((a, b) => a.target.priority - b.target.priority || a.draw - b.draw)
    .map(entry => entry.target)
}
