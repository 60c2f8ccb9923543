// The callers' side of the hot path, whatever engine commits its batches: what is awaited, and what is written behind.
import type { Gates, RefusedRow, Settled, Verdict } from './contract.ts'
import type { HotOp, HotResult } from './hot-rules.ts'

export type CommitBounds = { readonly batchMax: number; readonly waitingMax: number; readonly behindMax: number }

export const COMMIT_BOUNDS: CommitBounds = { batchMax: 256, waitingMax: 100_000, behindMax: 10_000 }

type GateSide = Omit<Gates, 'bearer'> & { flush(): void }

export function gateSide(submit: (op: HotOp) => Promise<HotResult>, behindMax: number): GateSide {
  let behind = 0
  const touched = new Map<string, number>()
  let touching = false

  // Written behind: nobody waits for these, and past a bound they are dropped rather than kept.
  function writeBehind(op: HotOp): void {
    if (behind >= behindMax) return
    behind += 1
    submit(op)
      .catch(() => undefined)
      .finally(() => {
        behind -= 1
      })
  }

  function flushTouches(): void {
    touching = false
    for (const [hash, at] of touched) writeBehind({ do: 'touch', hash, at })
    touched.clear()
  }

  return {
    gate: ask => submit({ do: 'gate', ask }) as Promise<Verdict>,
    settle: bill => submit({ do: 'settle', bill }) as Promise<Settled>,
    checkpoint: mark => writeBehind({ do: 'checkpoint', mark }),
    note: (row: RefusedRow) => writeBehind({ do: 'note', row }),
    touch(hash, at) {
      touched.set(hash, at)
      if (touching) return
      touching = true
      setTimeout(flushTouches, 1000).unref()
    },
    sweep: live => submit({ do: 'sweep', live }) as Promise<number>,
    flush: flushTouches,
  }
}
