// The state of every target and credential as an operator sees it. Contains no secrets.

export const TARGET_STATES = ['closed', 'open', 'half_open'] as const
export const CREDENTIAL_STATES = ['active', 'suspected', 'limited', 'dead'] as const

export type TargetView = {
  readonly provider: string
  // The provider's name for it.
  readonly model: string
  // State of its breaker: while it is open, nothing is sent there.
  readonly state: (typeof TARGET_STATES)[number]
  // Recent values; null while nothing is known.
  readonly successRate: number | null
  readonly firstByteMs: number | null
  readonly inFlight: number
  // Since the process started.
  readonly requests: number
  readonly failures: number
  // Milliseconds since 1970; null unless it is open.
  readonly openUntil: number | null
}

export type CredentialView = {
  readonly provider: string
  readonly id: string
  readonly state: (typeof CREDENTIAL_STATES)[number]
  // When a limited credential is used again or a rejected one is probed; null for the others.
  readonly until: number | null
}

export type TargetsView = { readonly targets: readonly TargetView[]; readonly credentials: readonly CredentialView[] }
