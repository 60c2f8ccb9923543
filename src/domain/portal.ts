// The customer portal: links and sessions of account holders.

// `usage`: requests, sums and CSV. `keys`: create, rotate and revoke. Every session sees its account and its keys.
export const PORTAL_PERMISSIONS = ['usage', 'keys'] as const
export type PortalPermission = (typeof PORTAL_PERMISSIONS)[number]

export const PORTAL_LINK_SECONDS_MAX = 300
export const RETURN_URL_MAX = 2048

// Portal sessions last as long as those of operators, and are named differently in the audit log: by their account.
export type PortalSession = {
  readonly id: string
  readonly account: { readonly id: string; readonly name: string }
  readonly permissions: readonly PortalPermission[]
  // Where a customer goes back to.
  readonly returnUrl: string | null
  readonly address: string
  readonly createdAt: number
  readonly usedAt: number
  readonly expiresAt: number
}

// The actors of events that a customer caused. No operator may have such a name.
export const PORTAL_ACTOR_PREFIX = 'portal:'

export function portalActorName(accountId: string): string {
  return `${PORTAL_ACTOR_PREFIX}${accountId}`
}
