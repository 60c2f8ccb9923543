// How hot operations cross to the store's thread and back: as flat lists of plain values. Cloning an object writes every
// field's name as well; a flat list takes a third of the time, and this is paid for every gate and every settlement.
import type { GateAsk, Settlement, Verdict } from './contract.ts'
import type { BatchResult } from './group-commit.ts'
import type { HotOp, HotResult } from './sqlite-gates.ts'

const FACTS = [
  'requestId',
  'clientRequestId',
  'accountId',
  'keyId',
  'secretLast4',
  'endpoint',
  'clientIp',
  'createdAt',
] as const satisfies readonly (keyof GateAsk['facts'])[]
const ASK = ['keyVersion', 'graceExpiresAt', 'evenIfSuspended', 'modelRequested', 'stream'] as const
const FREE = ['kind', 'outcome', 'httpStatus', 'errorCode'] as const
const HOLD = ['kind', 'base', 'outputPrice', 'outputTokens', 'outputTokensMin', 'priceVersion', 'price'] as const
const TOKENS = ['prompt', 'cached', 'cacheWrite', 'completion', 'reasoning'] as const
const BILL = [
  'requestId',
  'outcome',
  'httpStatus',
  'errorCode',
  'finishReason',
  'modelServed',
  'provider',
  'attempts',
  'usageSource',
  'cost',
  'upstreamCost',
  'priceVersion',
  'price',
  'firstByteAt',
  'finishedAt',
  'upstreamId',
] as const satisfies readonly Exclude<keyof Settlement, 'tokens'>[]
const GRANTED = ['hold', 'outputTokens', 'day', 'dayCount', 'keyRemaining'] as const
const BALANCE = ['available', 'held', 'spent', 'owed'] as const

export type FlatBatch = unknown[]

export function packOps(ops: readonly HotOp[]): FlatBatch {
  const flat: unknown[] = [ops.length]
  for (const op of ops) {
    flat.push(op.do)
    if (op.do === 'gate') {
      put(flat, op.ask.facts, FACTS)
      put(flat, op.ask, ASK)
      put(flat, op.ask.entry, op.ask.entry.kind === 'free' ? FREE : HOLD)
    } else if (op.do === 'settle') {
      put(flat, op.bill, BILL)
      put(flat, op.bill.tokens, TOKENS)
    } else {
      flat.push(op)
    }
  }
  return flat
}

export function unpackOps(flat: FlatBatch): HotOp[] {
  const from = reader(flat)
  return Array.from({ length: from.next() as number }, () => {
    const kind = from.next()
    if (kind === 'gate') {
      const facts = from.take(FACTS)
      const ask = from.take(ASK)
      const entry = from.take(from.peek() === 'free' ? FREE : HOLD)
      return { do: 'gate', ask: { ...ask, facts, entry } as unknown as GateAsk }
    }
    if (kind === 'settle') {
      const bill = from.take(BILL)
      return { do: 'settle', bill: { ...bill, tokens: from.take(TOKENS) } as unknown as Settlement }
    }
    return from.next() as HotOp
  })
}

export function packResults(results: readonly BatchResult<HotResult>[]): FlatBatch {
  const flat: unknown[] = [results.length]
  for (const result of results) {
    const granted = result.ok && isGranted(result.value) ? result.value : undefined
    flat.push(granted !== undefined)
    if (granted === undefined) {
      flat.push(result)
    } else {
      put(flat, granted, GRANTED)
      put(flat, granted.balance, BALANCE)
    }
  }
  return flat
}

export function unpackResults(flat: FlatBatch): BatchResult<HotResult>[] {
  const from = reader(flat)
  return Array.from({ length: from.next() as number }, () => {
    if (from.next() === false) return from.next() as BatchResult<HotResult>
    const granted = from.take(GRANTED)
    const value = { kind: 'granted', ...granted, balance: from.take(BALANCE) } as unknown as Verdict
    return { ok: true, value }
  })
}

function isGranted(value: HotResult): value is Extract<Verdict, { kind: 'granted' }> {
  return typeof value === 'object' && value !== null && value.kind === 'granted'
}

function put(flat: unknown[], from: object, names: readonly string[]): void {
  for (const name of names) flat.push((from as Record<string, unknown>)[name])
}

function reader(flat: FlatBatch) {
  let at = 0
  return {
    next: () => flat[at++],
    peek: () => flat[at],
    take(names: readonly string[]): Record<string, unknown> {
      const taken: Record<string, unknown> = {}
      for (const name of names) taken[name] = flat[at++]
      return taken
    },
  }
}
