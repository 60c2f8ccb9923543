// The client side of billing, whichever engine commits its batches: operations that are awaited, and those written in the
// background.
import { systemClock } from '../../lib/clock.ts'
import {
  type GateAsk,
  type Gates,
  NOTHING_SERVED,
  type RefusedRow,
  type Settled,
  type Settlement,
  StoreUnavailable,
  type Verdict,
} from '../contract/store.ts'
import { type BatchResult, groupCommit } from './group-commit.ts'
import type { HotOp, HotResult } from './transitions.ts'

export type CommitBounds = {
  readonly batchMax: number
  readonly waitingMax: number
  readonly behindMax: number
  // A reservation without an answer by then has failed. Shorter than a node's lease: what was granted to a node that was paused
  // for longer may have been taken over.
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
    error: () => new StoreUnavailable('the database did not respond in time'),
    onLate(op, verdict) {
      // If this fails too, a sweep finds a row without a live request.
      if (op.do !== 'gate' || op.ask.entry.kind !== 'hold' || !isGranted(verdict)) return
      submit({ do: 'settle', bill: releaseOf(op.ask) }).catch(() => undefined)
    },
  })
  let behind = 0
  const touched = new Map<string, number>()
  let touching = false

  // Written in the background: nothing waits for these, and beyond a bound they are dropped instead of kept.
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
  return new StoreUnavailable('too many queued database writes')
}

function isGranted(verdict: HotResult): boolean {
  return typeof verdict === 'object' && verdict?.kind === 'granted'
}

// Its caller got a 503 before the row existed.
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
