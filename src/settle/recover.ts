// Closes rows that will not be settled any more: those of a process that died, and our own without a live request. Also stores
// the ends of keys, secrets and sessions as they pass.

import type { Keys } from '../store/contract/operator.ts'
import type { BillingStore } from '../store/contract/store.ts'

export type SweepNeeds = {
  readonly billing: Pick<BillingStore, 'sweep'>
  readonly keys: Pick<Keys, 'markEnds'>
  readonly sessions: readonly { markEnds(): Promise<void> }[]
  readonly live: Iterable<string>
  readonly forget: (keyId: string) => void
  readonly onSwept: (rows: number) => void
  readonly onError: (error: unknown) => void
}

// The first sweep runs before the listener opens: what a crash left is booked before anything new.
export async function sweepOnce(needs: SweepNeeds): Promise<void> {
  const rows = await needs.billing.sweep([...needs.live])
  if (rows > 0) needs.onSwept(rows)
}

// Ends of grace periods, keys and sessions are stored as they pass, so that a clock that jumps back revives nothing.
export function keepSweeping(
  needs: SweepNeeds,
  every: { readonly sweepEveryMs: number; readonly keyEndsEveryMs: number },
): () => void {
  const stopSweeping = repeatedly(every.sweepEveryMs, () => sweepOnce(needs), needs.onError)
  const stopEnding = repeatedly(
    every.keyEndsEveryMs,
    async () => {
      for (const keyId of await needs.keys.markEnds()) needs.forget(keyId)
      for (const each of needs.sessions) await each.markEnds()
    },
    needs.onError,
  )
  return () => {
    stopSweeping()
    stopEnding()
  }
}

// Never two at once: a slow or unavailable store must not find a queue of these when it comes back.
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
