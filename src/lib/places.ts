// A bounded number of places for each owner. Who asks for one gets it or not; asking again is the same place, and it is
// given back once, on every way out.

export type Seat = { take(): boolean; giveBack(): void }

export function places(max: number): { of(owner: string): Seat } {
  const taken = new Map<string, number>()
  return {
    of(owner) {
      let mine = false
      return {
        take() {
          const count = taken.get(owner) ?? 0
          if (mine || count >= max) return mine
          taken.set(owner, count + 1)
          mine = true
          return true
        },
        giveBack() {
          if (!mine) return
          mine = false
          const left = (taken.get(owner) ?? 1) - 1
          if (left === 0) taken.delete(owner)
          else taken.set(owner, left)
        },
      }
    },
  }
}
