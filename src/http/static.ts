// Serves the dashboard's built files, and its page under every path that it has a view for. Only plain names of known types are looked
// up, in two folders, so that no notation of a path leads elsewhere; nothing is ever listed.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { rootPage } from './root-page.ts'
import { DASHBOARD_CSP, PLAIN_PAGE_CSP } from './security-headers.ts'

const VIEWS = [
  'overview',
  'keys',
  'accounts',
  'usage',
  'models',
  'providers',
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
  async function sendView(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const isBuilt = existsSync(join(folder, 'index.html'))
    reply.headers({ 'content-security-policy': isBuilt ? DASHBOARD_CSP : PLAIN_PAGE_CSP, 'cache-control': 'no-cache' })
    if (!isBuilt) return reply.type('text/html; charset=utf-8').send(rootPage())
    return sendFile('index.html', folder, request, reply)
  }

  app.get('/', sendView)
  app.get('/index.html', sendView)
  for (const view of VIEWS) {
    app.get(`/${view}`, sendView)
    app.get(`/${view}/*`, sendView)
  }
  app.get('/:file', (request, reply) => sendNamedFile(request, reply, folder, 'no-cache'))
  app.get('/assets/:file', (request, reply) => sendNamedFile(request, reply, join(folder, 'assets'), FOR_A_YEAR))
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
