// Security headers of every response outside /v1: run only our scripts, no frames, no content sniffing, no referrer.
import type { FastifyInstance, FastifyRequest } from 'fastify'

// For responses that are data. A page declares what it needs.
const DATA_CSP = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Our pages without scripts.
export const PLAIN_PAGE_CSP =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// The dashboard. Only styles may be inline: its components position themselves by style attributes.
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

// The API reference is like the dashboard, with a font inside of its script.
export const REFERENCE_CSP = DASHBOARD_CSP.replace("font-src 'self'", 'font-src data:')

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

// For responses that no hook sees.
export function securityHeaders(
  request: FastifyRequest,
  { cameByTls }: SecurityNeeds,
): Readonly<Record<string, string>> {
  return cameByTls(request) ? BY_TLS : ALWAYS
}
