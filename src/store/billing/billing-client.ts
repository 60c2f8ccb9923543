// The callers' side of the hot path, whatever engine commits its batches: what is awaited, and what is written behind.
import { systemClock } from '../../lib/clock.ts'
import {
  type GateAsk,
  type Gates,
  NOTHING_SERVED,
  type RefusedRow,
  type Settled,
  type Settlement,
  StoreAway,
  type Verdict,
} from '../contract/store.ts'
import { type BatchResult, groupCommit } from './group-commit.ts'
import type { HotOp, HotResult } from './transitions.ts'

export type CommitBounds = {
  readonly batchMax: number
  readonly waitingMax: number
  readonly behindMax: number
  // A gate that has no answer by then has failed. Shorter than the lease of a node: what was granted to one that stood still
  // for longer may be in other hands.
  readonly gateWaitMsMax: number
}

export const COMMIT_BOUNDS: CommitBounds = {
  batchMax: 256,
  waitingMax: 100_000,
  behindMax: 10_000,
  gateWaitMsMax: 10_000,
}

type GateSide = Omit<Gates, 'bearer'> & { flush(): void; drained(): Promise<void> }
type Commit = (ops: readonly HotOp[]) => Promise<readonly BatchResult<HotResult>[]>

export function gateSide(commit: Commit, bounds: CommitBounds): GateSide {
  const { submit, drained } = groupCommit<HotOp, HotResult>(commit, bounds, tooMany, {
    waitMsMax: bounds.gateWaitMsMax,
    isBounded: op => op.do === 'gate',
    error: () => new StoreAway('the store did not answer in time'),
    onLate(op, verdict) {
      // If this fails too, a sweep finds a row that no request stands behind.
      if (op.do !== 'gate' || op.ask.entry.kind !== 'hold' || !isGranted(verdict)) return
      submit({ do: 'settle', bill: releaseOf(op.ask) }).catch(() => undefined)
    },
  })
  let behind = 0
  const touched = new Map<string, number>()
  let touching = false

  // Written behind: nobody waits for these, and past a bound they are dropped rather than kept.
  function writeBehind(op: HotOp): void {
    if (behind >= bounds.behindMax) return
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
    drained,
  }
}

function tooMany(): Error {
  return new StoreAway('too many writes are waiting for the store')
}

function isGranted(verdict: HotResult): boolean {
  return typeof verdict === 'object' && verdict?.kind === 'granted'
}

// Its caller was told 503 before the row was there.
function releaseOf({ facts }: GateAsk): Settlement {
  return {
    ...NOTHING_SERVED,
    requestId: facts.requestId,
    outcome: 'refused',
    httpStatus: 503,
    errorCode: 'service_unavailable',
    finishedAt: systemClock.now(),
  }
}
