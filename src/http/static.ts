// Serves the dashboard's built files, and its page under every path that it has a view for. Only plain names of known types are looked
// up, in two folders, so that no notation of a path leads elsewhere; nothing is ever listed.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
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

// Adds `reply.sendFile`. A file with `.gz` next to it, made by the build, is sent compressed to clients that accept it. No validators
// are sent: they would be made of size and time, and npm gives every file of every version the same time.
export function staticFiles(app: FastifyInstance): void {
  app.register(fastifyStatic, {
    serve: false,
    preCompressed: true,
    cacheControl: false,
    etag: false,
    lastModified: false,
    dotfiles: 'ignore',
    index: false,
  })
}

export async function sendNamedFile(
  request: FastifyRequest,
  reply: FastifyReply,
  folder: string,
  caching: string,
): Promise<unknown> {
  const { file } = request.params as { readonly file: string }
  const isThere = NAME.test(file) && statSync(join(folder, file), { throwIfNoEntry: false })?.isFile()
  if (!isThere) return reply.callNotFound()
  return reply.headers({ 'cache-control': caching, vary: 'accept-encoding' }).sendFile(file, folder)
}

export function dashboard(app: FastifyInstance, folder: string): void {
  async function sendView(_request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const isBuilt = existsSync(join(folder, 'index.html'))
    reply.headers({ 'content-security-policy': isBuilt ? DASHBOARD_CSP : PLAIN_PAGE_CSP, 'cache-control': 'no-cache' })
    if (!isBuilt) return reply.type('text/html; charset=utf-8').send(rootPage())
    return reply.header('vary', 'accept-encoding').sendFile('index.html', folder)
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
