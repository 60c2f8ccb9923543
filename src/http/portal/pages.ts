// The pages of the customer portal: the link that opens a session once, and the application under /portal, which is separate from the
// operators' one.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PortalSessionMethods } from '../../portal/sessions.ts'
import type { PortalEntrance } from '../../store/contract/portal.ts'
import { StoreUnavailable } from '../../store/contract/store.ts'
import { DASHBOARD_CSP, PLAIN_PAGE_CSP } from '../security-headers.ts'
import { sendPage } from '../static.ts'
import { portalSecretOf, setPortalCookie } from './guard.ts'
import type { PortalBrand } from './portal-api.ts'

export type PortalPageNeeds = {
  readonly sessions: Pick<PortalSessionMethods, 'open'>
  readonly brand: PortalBrand
  addressOf(request: FastifyRequest): string
  cameByTls(request: FastifyRequest): boolean
  hasBegun(): boolean
}

const VIEWS = ['', '/', '/usage', '/usage/*', '/keys', '/keys/*', '/start']

export function portalPages(app: FastifyInstance, folder: string, needs: PortalPageNeeds): void {
  const csp = portalCsp(needs.brand.logo)
  for (const view of VIEWS) {
    app.get(`/portal${view}`, (request, reply) => sendPage(request, reply, { folder, file: 'portal.html', csp }))
  }
  // A HEAD must not use up a link.
  app.get('/portal/open/:token', { exposeHeadRoute: false }, async (request, reply) => {
    if (isPrefetch(request) || !needs.hasBegun()) return sendClosed(reply.code(503), NOT_NOW, null, needs.brand)
    const { token } = request.params as { readonly token: string }
    const opened = await needs.sessions
      .open(token, needs.addressOf(request), portalSecretOf(request))
      .catch(unlessUnavailable)
    if (opened === undefined) return sendClosed(reply.code(503), NOT_NOW, null, needs.brand)
    const { state, secret, returnUrl } = opened
    if (secret !== undefined) {
      setPortalCookie(reply, secret, needs.cameByTls(request))
      return reply.header('cache-control', 'no-store').redirect('/portal', 303)
    }
    const { status, ...words } = CLOSED[state === 'open' ? 'used' : state]
    return sendClosed(reply.code(status), words, returnUrl, needs.brand)
  })
}

// The link stays usable.
function unlessUnavailable(error: unknown): undefined {
  if (!(error instanceof StoreUnavailable)) throw error
}

// Browsers load pages ahead of a click, which must not use up a link.
function isPrefetch({ headers }: FastifyRequest): boolean {
  const purpose = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].join(' ')
  return /prefetch|preview|prerender/i.test(purpose)
}

type Words = { readonly title: string; readonly text: string }
const NOT_NOW: Words = {
  title: 'Please open the link again',
  text: 'The portal is not available at the moment. Try again in a minute.',
}
const AGAIN = 'Go back to the site that you came from and open the portal from there; you will get a new link.'
const CLOSED: Readonly<Record<Exclude<PortalEntrance['state'], 'open'>, Words & { readonly status: number }>> = {
  used: { status: 410, title: 'This link was already used', text: `Each link opens the portal once. ${AGAIN}` },
  expired: { status: 410, title: 'This link has expired', text: `Links work for a few minutes only. ${AGAIN}` },
  unknown: { status: 404, title: 'This link does not work', text: `It is incomplete or too old. ${AGAIN}` },
  suspended: {
    status: 403,
    title: 'This account is suspended',
    text: 'The portal is not available for suspended accounts. Contact the operator of this service.',
  },
}

function sendClosed(reply: FastifyReply, words: Words, returnUrl: string | null, brand: PortalBrand): FastifyReply {
  return reply
    .headers({ 'content-security-policy': PLAIN_PAGE_CSP, 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send(closedPage(words, returnUrl, brand))
}

function closedPage({ title, text }: Words, returnUrl: string | null, { name, color }: PortalBrand): string {
  const accent = color ?? '#1c7ed6'
  const back = returnUrl === null ? '' : `<p><a href="${escaped(returnUrl)}">Go back</a></p>`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)} – ${escaped(name)}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
  body { max-width: 34rem; margin: 12vh auto; padding: 0 1.25rem; overflow-wrap: anywhere }
  p:first-child { font-weight: 600; border-top: 4px solid ${accent}; padding-top: 1rem }
  h1 { font-size: 1.5rem; line-height: 1.3 } a { color: inherit }
</style>
<p>${escaped(name)}</p>
<h1>${escaped(title)}</h1>
<p>${escaped(text)}</p>
${back}
</html>
`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}

// As strict as the dashboard's, plus the host of the logo.
function portalCsp(logo: string | null): string {
  if (logo === null || logo.startsWith('data:')) return DASHBOARD_CSP
  return DASHBOARD_CSP.replace("img-src 'self' data:", `img-src 'self' data: ${new URL(logo).origin}`)
}
