// What is known of a request once it has been answered: its log line and its metrics are made from it.
import type { Nano, Tokens } from '../domain/credits.ts'
import type { Call } from '../domain/handoff.ts'
import type { AuthenticatedKey } from '../domain/key.ts'
import type { Endpoint, Outcome } from '../domain/usage.ts'

export type RequestReport = Served & {
  readonly call: Pick<Call, 'requestId' | 'clientRequestId' | 'address'>
  readonly endpoint: Endpoint
  readonly caller: AuthenticatedKey | undefined
  readonly ms: number
}

// The part that the endpoint knows.
export type Served = {
  readonly status: number
  readonly outcome: Outcome
  readonly model?: string | undefined
  readonly provider?: string | null | undefined
  readonly stream?: boolean
  readonly tokens?: Tokens
  readonly cost?: Nano
  readonly errorCode?: string | undefined
  readonly firstByteMs?: number | undefined
}
