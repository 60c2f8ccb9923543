// Serves the dashboard's built files, and its page under the path of every view. Only plain names of known types are looked up,
// in two folders, so that no path notation leads elsewhere; nothing is listed.
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
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

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
}
const NAME = /^\w[\w.-]{0,199}\.(\w+)$/
const IS_TEXT = /^text\/|json|svg/
const PACKED_MAX = 500

export function dashboard(app: FastifyInstance, folder: string): void {
  const send = fileSender()

  async function sendView(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    reply.headers({ 'content-security-policy': DASHBOARD_CSP, 'cache-control': 'no-cache' })
    const sent = await send(join(folder, 'index.html'), 'html', request, reply)
    if (sent !== undefined) return sent
    reply.header('content-security-policy', PLAIN_PAGE_CSP)
    return reply.type(TYPES.html ?? '').send(rootPage())
  }

  function sendFrom(subfolder: string, caching: string) {
    return async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const { file } = request.params as { readonly file: string }
      const extension = NAME.exec(file)?.[1] ?? ''
      if (!Object.hasOwn(TYPES, extension)) return reply.callNotFound()
      if (extension === 'html') return sendView(request, reply)
      const sent = await send(join(folder, subfolder, file), extension, request, reply.header('cache-control', caching))
      return sent ?? reply.header('cache-control', 'no-store').callNotFound()
    }
  }

  app.get('/', sendView)
  for (const view of VIEWS) {
    app.get(`/${view}`, sendView)
    app.get(`/${view}/*`, sendView)
  }
  app.get('/:file', sendFrom('', 'no-cache'))
  // Their names contain a hash of their content.
  app.get('/assets/:file', sendFrom('assets', 'public, max-age=31536000, immutable'))
}

const pack = promisify(gzip)

// Undefined: no such file. Compressed files are cached, since the same few are requested again and again.
function fileSender() {
  const packed = new Map<string, Buffer>()

  async function packedOf(etag: string, content: Buffer): Promise<Buffer> {
    const known = packed.get(etag)
    if (known !== undefined) return known
    const small = await pack(content)
    if (packed.size < PACKED_MAX) packed.set(etag, small)
    return small
  }

  return async (path: string, extension: string, request: FastifyRequest, reply: FastifyReply) => {
    const found = await stat(path).catch(() => undefined)
    if (!found?.isFile()) return undefined
    const type = TYPES[extension] ?? ''
    const isText = IS_TEXT.test(type)
    const packs = isText && /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
    const etag = `"${found.ino.toString(36)}-${found.size.toString(36)}-${Math.floor(found.mtimeMs).toString(36)}${packs ? '-gz' : ''}"`
    reply.headers({ etag, ...(isText ? { vary: 'accept-encoding' } : {}) })
    if (request.headers['if-none-match'] === etag) return reply.code(304).send()
    const content = await readFile(path)
    reply.type(type)
    return packs ? reply.header('content-encoding', 'gzip').send(await packedOf(etag, content)) : reply.send(content)
  }
}
