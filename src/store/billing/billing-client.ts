// The client side of billing, whichever engine commits its batches: operations that are awaited, and those written in the
// background.
import { Refusal } from '../../domain/refusal.ts'
import { refusedFields } from '../../domain/refused-row.ts'
import { systemClock } from '../../lib/clock.ts'
import {
  type BillingStore,
  type LastUse,
  NOTHING_SERVED,
  type RefusedRow,
  type Reservation,
  type ReservationRequest,
  type Settled,
  type Settlement,
  StoreUnavailable,
} from '../contract/store.ts'
import { type BatchResult, groupCommit } from './group-commit.ts'
import type { BillingOp, BillingResult, SecretUse } from './transitions.ts'

export type CommitBounds = {
  readonly batchMax: number
  readonly waitingMax: number
  readonly behindMax: number
  // A reservation without an answer by then has failed. Shorter than a node's lease: what was reserved for a node that was paused
  // for longer may have been taken over.
  readonly gateWaitMsMax: number
  // Uses of secrets are written this often, those of a secret in constant use less often.
  readonly usesWrittenEveryMs: number
  readonly useWrittenAgainMs: number
}

export const COMMIT_BOUNDS: CommitBounds = {
  batchMax: 256,
  waitingMax: 100_000,
  behindMax: 10_000,
  gateWaitMsMax: 10_000,
  usesWrittenEveryMs: 1000,
  useWrittenAgainMs: 5000,
}

// Per operation, which is written as a whole.
const USES_AT_ONCE = 256

type BillingClient = Omit<BillingStore, 'findKey'> & { flush(): void; drained(): Promise<void> }
type Commit = (ops: readonly BillingOp[]) => Promise<readonly BatchResult<BillingResult>[]>

export function billingClient(commit: Commit, bounds: CommitBounds): BillingClient {
  const { submit, drained } = groupCommit<BillingOp, BillingResult>(commit, bounds, tooMany, {
    waitMsMax: bounds.gateWaitMsMax,
    isBounded: op => op.do === 'reserve',
    error: () => new StoreUnavailable('the database did not respond in time'),
    onLate(op, reservation) {
      // If this fails too, a sweep finds a row without a live request.
      if (op.do !== 'reserve' || op.ask.entry.kind !== 'hold' || !isReserved(reservation)) return
      submit({ do: 'settle', bill: releaseOf(op.ask) }).catch(() => undefined)
    },
  })
  let behind = 0
  let touched: LastUse[] = []
  let touching = false

  // Written in the background: nothing waits for these, and beyond a bound they are dropped instead of kept.
  function writeBehind(op: BillingOp): void {
    if (behind >= bounds.behindMax) return
    behind += 1
    submit(op)
      .catch(() => undefined)
      .finally(() => {
        behind -= 1
      })
  }

  // Those that were last written by then.
  function writeTouched(writtenBefore: number): void {
    const now = systemClock.monotonic()
    const uses: SecretUse[] = []
    const later: LastUse[] = []
    for (const use of touched) {
      if (use.writtenMs > writtenBefore) later.push(use)
      else {
        uses.push([use.hash, use.at])
        use.isWaiting = false
        use.writtenMs = now
      }
    }
    for (let i = 0; i < uses.length; i += USES_AT_ONCE) {
      writeBehind({ do: 'touch', uses: uses.slice(i, i + USES_AT_ONCE) })
    }
    touched = later
  }

  function writeInTime(): void {
    touching = true
    setTimeout(() => {
      touching = false
      writeTouched(systemClock.monotonic() - bounds.useWrittenAgainMs)
      if (touched.length > 0) writeInTime()
    }, bounds.usesWrittenEveryMs).unref()
  }

  return {
    reserve: ask => submit({ do: 'reserve', ask }) as Promise<Reservation>,
    settle: bill => submit({ do: 'settle', bill }) as Promise<Settled>,
    checkpoint: mark => writeBehind({ do: 'checkpoint', mark }),
    logRefusal: (row: RefusedRow) => writeBehind({ do: 'log_refusal', row }),
    touch(use, at) {
      if (at > use.at) use.at = at
      if (use.isWaiting) return
      use.isWaiting = true
      touched.push(use)
      if (!touching) writeInTime()
    },
    sweep: live => submit({ do: 'sweep', live }) as Promise<number>,
    flush: () => writeTouched(Number.POSITIVE_INFINITY),
    drained,
  }
}

function tooMany(): Error {
  return new StoreUnavailable('too many queued database writes')
}

function isReserved(reservation: BillingResult): boolean {
  return typeof reservation === 'object' && reservation?.kind === 'reserved'
}

// Its caller got a 503 before the row existed.
function releaseOf({ facts }: ReservationRequest): Settlement {
  return {
    ...NOTHING_SERVED,
    requestId: facts.requestId,
    outcome: 'refused',
    ...refusedFields(new Refusal('service_unavailable')),
    finishedAt: systemClock.now(),
  }
}
