// Operators and their sessions: who may manage the gateway, in which role, and for how long a login lasts.

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
  // Where it was opened from.
  readonly address: string
  readonly createdAt: number
  readonly usedAt: number
  readonly expiresAt: number
}

// Whoever bears the token of the configuration. There is always one, so that nobody can lock everybody out.
export const ROOT = { id: 'op_root', name: 'admin' } as const

// Names that events give to what nobody ordered; an operator of that name could hide behind it.
export const RESERVED_NAMES: readonly string[] = ['system', 'first start', 'start', 'command line']

const HOUR_MS = 3_600_000
export const SESSION_MS = 12 * HOUR_MS
export const SESSION_IDLE_MS = HOUR_MS

export function idleExpiresAt({ usedAt, expiresAt }: Pick<Session, 'usedAt' | 'expiresAt'>): number {
  return Math.min(usedAt + SESSION_IDLE_MS, expiresAt)
}
