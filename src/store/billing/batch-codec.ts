// Encodes billing operations for the store's thread and back, as flat lists of plain values. Cloning an object also writes every
// field's name; a flat list takes a third of the time, and every reservation and settlement pays for it.
import type { Reservation, ReservationRequest } from '../contract/store.ts'
import type { BatchResult } from './group-commit.ts'
import type { BillingOp, BillingResult } from './transitions.ts'
import { BILL_SIZE, FACTS_SIZE, packBill, packFacts, unpackBill, unpackFacts } from './usage-binders.ts'

export type FlatBatch = unknown[]

export function packOps(ops: readonly BillingOp[]): FlatBatch {
  const flat: unknown[] = []
  for (const op of ops) {
    flat.push(op.do)
    if (op.do === 'reserve') packGate(flat, op.ask)
    else if (op.do === 'settle') packBill(flat, op.bill)
    else flat.push(op)
  }
  return flat
}

export function unpackOps(flat: FlatBatch): BillingOp[] {
  const ops: BillingOp[] = []
  for (let at = 0; at < flat.length; ) {
    const kind = flat[at]
    if (kind === 'reserve') {
      ops.push({ do: 'reserve', ask: unpackGate(flat, at + 1) })
      at += 1 + GATE_SIZE
    } else if (kind === 'settle') {
      ops.push({ do: 'settle', bill: unpackBill(flat, at + 1) })
      at += 1 + BILL_SIZE
    } else {
      ops.push(flat[at + 1] as BillingOp)
      at += 2
    }
  }
  return ops
}

// A reserved hold is five values, a settlement one string; rarer results are cloned as they are.
export function packResults(results: readonly BatchResult<BillingResult>[]): FlatBatch {
  const flat: unknown[] = []
  for (const result of results) {
    if (result.ok && typeof result.value === 'string') flat.push(result.value)
    else if (result.ok && isHold(result.value)) {
      const { hold, outputTokens, day, dayCount } = result.value
      flat.push(RESERVED, hold, outputTokens, day, dayCount)
    } else flat.push(OTHER, result)
  }
  return flat
}

export function unpackResults(flat: FlatBatch): BatchResult<BillingResult>[] {
  const results: BatchResult<BillingResult>[] = []
  for (let at = 0; at < flat.length; ) {
    const kind = flat[at]
    if (kind === RESERVED) {
      const value = {
        kind: 'reserved',
        hold: flat[at + 1],
        outputTokens: flat[at + 2],
        day: flat[at + 3],
        dayCount: flat[at + 4],
        balances: null,
      } as Reservation
      results.push({ ok: true, value })
      at += 5
    } else if (kind === OTHER) {
      results.push(flat[at + 1] as BatchResult<BillingResult>)
      at += 2
    } else {
      results.push({ ok: true, value: kind as BillingResult })
      at += 1
    }
  }
  return results
}

const RESERVED = 1
const OTHER = 2

type ReservedHold = Extract<Reservation, { kind: 'reserved' }> & { readonly balances: null }

function isHold(value: BillingResult): value is ReservedHold {
  return typeof value === 'object' && value !== null && value.kind === 'reserved' && value.balances === null
}

// In addition to the facts of its request, written and read by position: decoding must give what was encoded, field by field.
const GATE_SIZE = FACTS_SIZE + 14

function packGate(flat: unknown[], ask: ReservationRequest): void {
  const { facts, entry } = ask
  packFacts(flat, facts)
  flat.push(
    ask.keyVersion,
    ask.graceExpiresAt,
    ask.evenIfSuspended,
    ask.modelRequested,
    ask.stream,
    ask.isRefusalCounted,
    entry.kind,
  )
  if (entry.kind === 'unbilled') {
    flat.push(entry.outcome, entry.httpStatus, entry.errorCode, entry.errorMessage, entry.errorDetail, null, null)
  } else {
    const { base, baseAtBest, outputPrice, outputTokens, outputTokensMin, priceVersion, price } = entry
    flat.push(base, outputPrice, outputTokens, outputTokensMin, priceVersion, price, baseAtBest)
  }
}

function unpackGate(flat: FlatBatch, start: number): ReservationRequest {
  const at = start + FACTS_SIZE
  return {
    facts: unpackFacts(flat, start),
    keyVersion: flat[at],
    graceExpiresAt: flat[at + 1],
    evenIfSuspended: flat[at + 2],
    modelRequested: flat[at + 3],
    stream: flat[at + 4],
    isRefusalCounted: flat[at + 5],
    entry: unpackEntry(flat, at + 6),
  } as ReservationRequest
}

function unpackEntry(flat: FlatBatch, at: number): ReservationRequest['entry'] {
  if (flat[at] === 'unbilled') {
    return {
      kind: 'unbilled',
      outcome: flat[at + 1],
      httpStatus: flat[at + 2],
      errorCode: flat[at + 3],
      errorMessage: flat[at + 4],
      errorDetail: flat[at + 5],
    } as ReservationRequest['entry']
  }
  return {
    kind: 'hold',
    base: flat[at + 1],
    outputPrice: flat[at + 2],
    outputTokens: flat[at + 3],
    outputTokensMin: flat[at + 4],
    priceVersion: flat[at + 5],
    price: flat[at + 6],
    baseAtBest: flat[at + 7],
  } as ReservationRequest['entry']
}
