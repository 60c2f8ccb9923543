// A bounded number of places for each owner: taking one gives the way to leave it, or nothing when all are taken.

export function places(max: number): { take(owner: string): (() => void) | undefined } {
  const taken = new Map<string, number>()
  return {
    take(owner) {
      const count = taken.get(owner) ?? 0
      if (count >= max) return undefined
      taken.set(owner, count + 1)
      let there = true
      return () => {
        if (!there) return
        there = false
        const left = (taken.get(owner) ?? 1) - 1
        if (left === 0) taken.delete(owner)
        else taken.set(owner, left)
      }
    },
  }
}
