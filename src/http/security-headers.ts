// What every answer outside of /v1 tells browsers: run nothing that is not ours, show it in no frame, guess no types, and
// tell nobody where one came from.
import type { FastifyInstance, FastifyRequest } from 'fastify'

// For answers that are data. A page says itself what it needs.
const DATA_CSP = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// A page of ours without scripts.
export const PLAIN_PAGE_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The dashboard. Styles alone may be inline: its components place themselves by style attributes.
export const DASHBOARD_CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "object-src 'none'",
].join('; ')

export const ALWAYS: Readonly<Record<string, string>> = {
  'content-security-policy': DATA_CSP,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const BY_TLS = { ...ALWAYS, 'strict-transport-security': 'max-age=31536000' }

export type SecurityNeeds = { cameByTls(request: FastifyRequest): boolean }

export function sendSecurityHeaders(app: FastifyInstance, needs: SecurityNeeds): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(securityHeaders(request, needs))
  })
}

// For answers that no hook sees.
export function securityHeaders(
  request: FastifyRequest,
  { cameByTls }: SecurityNeeds,
): Readonly<Record<string, string>> {
  return cameByTls(request) ? BY_TLS : ALWAYS
}
