// Operators and their sessions: who may manage the gateway, in which role, and how long a login lasts.

export const ROLES = ['admin', 'viewer'] as const
export type Role = (typeof ROLES)[number]

export type Operator = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly createdAt: number
  readonly lastUsedAt: number | null
}

export type Session = {
  readonly id: string
  readonly operator: Pick<Operator, 'id' | 'name' | 'role'>
  // The address from which it was opened.
  readonly address: string
  readonly createdAt: number
  readonly usedAt: number
  readonly expiresAt: number
}

// The operator of the configured token. It always exists, so that nobody can lock everybody out.
export const ROOT = { id: 'op_root', name: 'admin' } as const

// Reserved actor names of events that no operator caused; an operator of that name could hide behind them.
export const RESERVED_NAMES: readonly string[] = ['system', 'first start', 'start', 'command line']

const HOUR_MS = 3_600_000
export const SESSION_MS = 12 * HOUR_MS
export const SESSION_IDLE_MS = HOUR_MS
// A session that began further in the future was opened by a wrong clock.
export const CLOCK_AHEAD_MS_MAX = HOUR_MS

export function idleExpiresAt({ usedAt, expiresAt }: Pick<Session, 'usedAt' | 'expiresAt'>): number {
  return Math.min(usedAt + SESSION_IDLE_MS, expiresAt)
}
