// Reads what the gateway booked, and repeats the contract's arithmetic, so that the gateway's own is not tested against
// itself.
import { setTimeout } from 'node:timers/promises'
import type { Gateway } from './gateway.ts'
import type { Loose } from './http-call.ts'

export type UsageRow = {
  readonly request_id: string
  readonly client_request_id: string | null
  readonly key_id: string
  readonly model_requested: string | null
  readonly model_served: string | null
  readonly provider: string | null
  readonly attempts: readonly {
    readonly provider: string
    readonly model: string
    readonly outcome: string
    readonly status: number | null
  }[]
  readonly state: string
  readonly outcome: string
  readonly http_status: number
  readonly error_code: string | null
  readonly finish_reason: string | null
  readonly prompt_tokens: number
  readonly cached_tokens: number
  readonly cache_write_tokens: number
  readonly completion_tokens: number
  readonly reasoning_tokens: number
  readonly usage_source: string
  readonly price: { readonly prompt: string; readonly completion: string } | null
  readonly hold: string
  readonly cost: string
  readonly upstream_id: string | null
}

export type Balance = {
  readonly available: string
  readonly held: string
  readonly spent: string
  readonly owed: string
}

// The row of a request, once it is settled: a caller that disconnected does not see when.
export async function settledRow(gateway: Gateway, requestId: unknown, timeoutMs = 10_000): Promise<UsageRow> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const { status, body } = await gateway.admin('GET', `/usage/${String(requestId)}`)
    const row = body as unknown as UsageRow
    if (status === 200 && row.state !== 'open') return row
    if (Date.now() > deadline) throw new Error(`row ${String(requestId)} is not settled: ${JSON.stringify(body)}`)
    await setTimeout(10)
  }
}

export async function balanceOf(gateway: Gateway, accountId: string): Promise<Balance> {
  const { body } = await gateway.admin<{ balance: Balance }>('GET', `/accounts/${accountId}`)
  return body.balance
}

// Newest first.
export async function ledgerOf(gateway: Gateway, accountId: string): Promise<readonly Loose[]> {
  const { body } = await gateway.admin<{ data: Loose[] }>('GET', `/accounts/${accountId}/ledger?limit=1000`)
  return body.data
}

// What the ledger has charged in all days.
export async function chargedTo(gateway: Gateway, accountId: string): Promise<bigint> {
  const charges = (await ledgerOf(gateway, accountId)).filter(({ kind }) => String(kind) === 'charge')
  return charges.reduce((sum, { amount }) => sum - nano(amount), 0n)
}

// "0.000123" → 123000n: whole nano-credits.
export function nano(credits: unknown): bigint {
  const [whole = '', fraction = ''] = String(credits).split('.')
  if (!/^-?\d+$/.test(whole) || !/^\d{0,9}$/.test(fraction)) throw new Error(`not plain credits: ${String(credits)}`)
  const digits = BigInt(whole.replace('-', '') + fraction.padEnd(9, '0'))
  return whole.startsWith('-') ? -digits : digits
}

// And back: 123000n → "0.000123".
export function credits(amount: bigint): string {
  const digits = amount.toString().padStart(10, '0')
  return `${digits.slice(0, -9)}.${digits.slice(-9)}`.replace(/\.?0+$/, '')
}

// The bound of section 8: a token for every byte of the serialised prompt, and 16 per message.
export function promptBound(messages: readonly object[], ...more: readonly unknown[]): number {
  const bytes = [messages, ...more].reduce<number>((sum, part) => sum + Buffer.byteLength(JSON.stringify(part)), 0)
  return bytes + 16 * messages.length
}
