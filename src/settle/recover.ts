// Closes rows that nobody will settle any more: those of a process that died, and our own that no request stands behind.
// Writes down the ends of keys and secrets as they pass.

import type { Keys } from '../store/contract/operator.ts'
import type { Gates } from '../store/contract/store.ts'

export type SweepNeeds = {
  readonly gates: Pick<Gates, 'sweep'>
  readonly keys: Pick<Keys, 'markEnds'>
  readonly live: Iterable<string>
  readonly forget: (keyId: string) => void
  readonly onSwept: (rows: number) => void
  readonly onError: (error: unknown) => void
}

// The first sweep comes before the door opens: what a crash left is booked before anything new is.
export async function sweepOnce(needs: SweepNeeds): Promise<void> {
  const rows = await needs.gates.sweep([...needs.live])
  if (rows > 0) needs.onSwept(rows)
}

// Ends of grace and of keys are written down as they pass, so that a clock that jumps back revives nothing.
export function keepSweeping(
  needs: SweepNeeds,
  every: { readonly sweepEveryMs: number; readonly keyEndsEveryMs: number },
): () => void {
  const stopSweeping = repeatedly(every.sweepEveryMs, () => sweepOnce(needs), needs.onError)
  const stopEnding = repeatedly(
    every.keyEndsEveryMs,
    async () => {
      for (const keyId of await needs.keys.markEnds()) needs.forget(keyId)
    },
    needs.onError,
  )
  return () => {
    stopSweeping()
    stopEnding()
  }
}

// Never twice at once: a store that is slow or away must not find a queue of these when it comes back.
function repeatedly(ms: number, work: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let busy = false
  const timer = setInterval(() => {
    if (busy) return
    busy = true
    work()
      .catch(onError)
      .finally(() => {
        busy = false
      })
  }, ms)
  return () => clearInterval(timer)
}
