// Serves the dashboard's built files, and its page under every path that it has a view for. Only plain names of known types are looked
// up, in two folders, so that no notation of a path leads elsewhere; nothing is ever listed.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { DASHBOARD_CSP, PLAIN_PAGE_CSP } from './security-headers.ts'

const VIEWS = [
  'overview',
  'keys',
  'accounts',
  'usage',
  'models',
  'providers',
  'webhooks',
  'nodes',
  'playground',
  'events',
  'settings',
  'login',
]

// For files whose names hold a hash of their content.
export const FOR_A_YEAR = 'public, max-age=31536000, immutable'
const NAME = /^\w[\w.-]{0,199}\.(?:css|html|ico|js|json|png|svg|txt|webmanifest|woff2)$/

export async function sendNamedFile(
  request: FastifyRequest,
  reply: FastifyReply,
  folder: string,
  caching: string,
): Promise<unknown> {
  const { file } = request.params as { readonly file: string }
  const isThere = NAME.test(file) && statSync(join(folder, file), { throwIfNoEntry: false })?.isFile()
  if (!isThere) return reply.callNotFound()
  return sendFile(file, folder, request, reply.header('cache-control', caching))
}

export function dashboard(app: FastifyInstance, folder: string): void {
  const sendView = (request: FastifyRequest, reply: FastifyReply) =>
    sendPage(request, reply, { folder, file: 'index.html', csp: DASHBOARD_CSP })

  app.get('/', sendView)
  app.get('/index.html', sendView)
  for (const view of VIEWS) {
    app.get(`/${view}`, sendView)
    app.get(`/${view}/*`, sendView)
  }
  app.get('/:file', (request, reply) => sendNamedFile(request, reply, folder, 'no-cache'))
}

// Of the dashboard and the portal.
export function assets(app: FastifyInstance, folder: string): void {
  app.get('/assets/:file', (request, reply) => sendNamedFile(request, reply, join(folder, 'assets'), FOR_A_YEAR))
}

type WebPage = { readonly folder: string; readonly file: string; readonly csp: string }

export async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  { folder, file, csp }: WebPage,
): Promise<unknown> {
  const isBuilt = existsSync(join(folder, file))
  reply.headers({ 'content-security-policy': isBuilt ? csp : PLAIN_PAGE_CSP, 'cache-control': 'no-cache' })
  if (!isBuilt) return reply.type('text/html; charset=utf-8').send(rootPage())
  return sendFile(file, folder, request, reply)
}

// A file with `.gz` next to it, made by the build, is sent compressed to clients that accept it. No validators are sent: they would be
// made of size and time, and npm gives every file of every version the same time. The library is loaded with the first file, since a
// start must not wait for it.
async function sendFile(file: string, folder: string, request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const { send } = await import('@fastify/send')
  const accepts = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  const isCompressed = accepts && existsSync(join(folder, `${file}.gz`))
  const options = {
    root: folder,
    dotfiles: 'ignore',
    index: false,
    etag: false,
    lastModified: false,
    cacheControl: false,
  } as const
  const found = await send(request.raw, isCompressed ? `${file}.gz` : file, options)
  if (found.type !== 'file') return reply.header('cache-control', 'no-store').callNotFound()
  reply.code(found.statusCode).headers({ ...found.headers, vary: 'accept-encoding' })
  if (isCompressed) reply.headers({ 'content-encoding': 'gzip', 'content-type': typeOf(file, send.mime) })
  return reply.send(found.stream)
}

function typeOf(file: string, mime: { getType(path: string): string | null }): string {
  const type = mime.getType(file) ?? 'application/octet-stream'
  return /^text\/|javascript|json/.test(type) ? `${type}; charset=utf-8` : type
}

// Whether a browser asks for a page, and not a program for data.
export function isForPeople({ method, headers, url }: FastifyRequest): boolean {
  const isRead = method === 'GET' || method === 'HEAD'
  return isRead && /\btext\/html\b/i.test(headers.accept ?? '') && !/^\/(v1|admin|portal\/v1)\//.test(url)
}

export async function sendNotFoundPage(reply: FastifyReply, hasDashboard: boolean): Promise<unknown> {
  const home = hasDashboard ? '<a href="/">the dashboard</a> or the ' : 'the '
  reply.headers({ 'content-security-policy': PLAIN_PAGE_CSP, 'cache-control': 'no-store', vary: 'Accept' })
  return reply
    .code(404)
    .type('text/html; charset=utf-8')
    .send(
      plainPage('Page not found', `<h1>Page not found</h1>\n<p>Go to ${home}<a href="/docs">API reference</a>.</p>\n`),
    )
}

// The page at `/` where the dashboard is not built: what this server is and where to go.
function rootPage(): string {
  return plainPage(
    'Turnpike',
    `<h1>Turnpike is running</h1>
<p>This gateway accepts OpenAI chat requests at <code>/v1/chat/completions</code>, routes each to a provider, and
bills it exactly.</p>
<p>The dashboard is not built. Run <code>npm run build</code> in the checkout to build it. Also available:</p>
<ul>
  <li><a href="/docs">API reference</a> and <a href="/openapi.json">OpenAPI document</a></li>
  <li>the command <code>turnpike --help</code> for keys, credits and usage</li>
  <li><a href="/health">/health</a>, <a href="/ready">/ready</a>, <a href="/metrics">/metrics</a></li>
</ul>
`,
  )
}

function plainPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif }
  body { max-width: 38rem; margin: 12vh auto; padding: 0 1.25rem }
  h1 { font-size: 1.6rem; letter-spacing: -.01em } code { font-size: .95em }
  a { color: inherit }
</style>
${body}</html>
`
}
