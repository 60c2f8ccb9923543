// How the dashboard's files are served, over real HTTP from a separate folder: only the files of the build, with
// headers that let no foreign script run.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { fastify } from 'fastify'
import { sessionCookies } from '../../src/http/admin/guard.ts'
import { portalPages } from '../../src/http/portal/pages.ts'
import { sendSecurityHeaders } from '../../src/http/security-headers.ts'
import { assets, dashboard } from '../../src/http/static.ts'
import { StoreUnavailable } from '../../src/store/contract/store.ts'
import { type Answer, httpCall } from '../support/http-call.ts'
import { rawRequest } from '../support/raw-http.ts'

const INDEX = '<!doctype html><script type="module" src="/assets/app-abc123.js"></script>'
const PORTAL = '<!doctype html><script type="module" src="/assets/portal-abc123.js"></script>'
const SCRIPT = `console.log(${'1 +'.repeat(2000)} 1)`

test('the page is served at the root and under each of its views, and is revalidated every time', async () => {
  await using site = await openSite()

  for (const path of ['/', '/overview', '/keys', '/keys/key_1', '/usage/a/b', '/login', '/index.html', '/keys?q=x']) {
    const answer = await site.get(path)
    assert.deepEqual([answer.status, answer.text], [200, INDEX], path)
    assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal(answer.headers['cache-control'], 'no-cache')
    assertStrict(answer)
  }
  // npm gives every file of every version the same modification time, so a validator based on it would keep an old page
  // in caches.
  const { headers } = await site.get('/')
  assert.deepEqual([headers.etag, headers['last-modified']], [undefined, undefined])
})

test('the portal has a page of its own; its policy is as strict and allows the host of the logo', async () => {
  await using plain = await openSite({ logo: 'data:image/png;base64,AAAA' })
  await using branded = await openSite({ logo: 'https://cdn.example:8443/a/logo.svg' })

  for (const path of ['/portal', '/portal/', '/portal/keys/key_1', '/portal/usage?range=7d', '/portal/start']) {
    const answer = await plain.get(path)
    assert.deepEqual([answer.status, answer.text], [200, PORTAL], path)
    assertStrict(answer)
  }
  assert.equal((await plain.get('/portal/v1')).status, 404)
  const policy = async (site: typeof plain) => String((await site.get('/portal')).headers['content-security-policy'])
  assert.equal(await policy(plain), String((await plain.get('/')).headers['content-security-policy']))
  assert.equal(
    await policy(branded),
    (await policy(plain)).replace("img-src 'self' data:", "img-src 'self' data: https://cdn.example:8443"),
  )
})

test('while the store is unavailable, a link of the portal asks to try again', async () => {
  await using site = await openSite({ isStoreDown: true })

  const { status, text, headers } = await site.get('/portal/open/x')

  assert.equal(status, 503)
  assert.match(text, /Please open the link again/)
  assert.equal(headers['set-cookie'], undefined)
})

test('assets are cached for a year, compressed if accepted, and have their content types', async () => {
  await using site = await openSite()

  const plain = await site.get('/assets/app-abc123.js')
  const packed = await httpBytes(`${site.url}/assets/app-abc123.js`)
  const icon = await site.get('/favicon.svg')

  assert.deepEqual([plain.status, plain.text], [200, SCRIPT])
  assert.equal(plain.headers['cache-control'], 'public, max-age=31536000, immutable')
  assert.equal(plain.headers['content-type'], 'application/javascript; charset=utf-8')
  assert.equal(gunzipSync(packed).toString(), SCRIPT)
  assert.deepEqual(
    [icon.status, icon.headers['content-type'], icon.headers['cache-control']],
    [200, 'image/svg+xml', 'no-cache'],
  )
  assertStrict(icon)
})

test('nothing outside the build is served for any spelling of a path, and no directory is listed', async () => {
  await using site = await openSite()
  const paths = [
    '/../secret.txt',
    '/assets/../../secret.txt',
    '/assets/..%2f..%2fsecret.txt',
    '/%2e%2e/secret.txt',
    '/..%5csecret.txt',
    '/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
    '//secret.txt',
    '/.env',
    '/assets/.env',
    '/assets/',
    '/assets',
    '/assets/app-abc123.js/',
    '/assets/app-abc123.js%00.txt',
    '/app-abc123.js',
    '/assets/index.php',
    '/nothing',
    '/constructor',
    '/x.constructor',
    '/folder.js',
    `/${'a'.repeat(300)}.js`,
    '/assets/%zz.js',
  ]

  for (const path of paths) {
    const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const { text, answer } = await rawRequest(site.port, head, { expect: 1 })
    assert.ok(!text.includes('TOP SECRET') && !text.includes('console.log'), path)
    assert.ok([400, 404, 414].includes(answer?.status ?? 0), path)
  }
})

test('HSTS is sent behind TLS and not without it', async () => {
  await using site = await openSite()

  const by = await site.get('/', { 'x-forwarded-proto': 'https' })

  assert.equal(by.headers['strict-transport-security'], 'max-age=31536000')
  assert.equal((await site.get('/')).headers['strict-transport-security'], undefined)
})

test('without a build a plain page explains how to build it, and a build is found without a restart', async () => {
  await using site = await openSite({ built: false })

  const before = await site.get('/keys')
  site.build()
  const after = await site.get('/keys')

  assert.equal(before.status, 200)
  assert.match(before.text, /npm run build/)
  assert.doesNotMatch(before.text, /<script/)
  assert.match(String(before.headers['content-security-policy']), /^default-src 'none'; style-src 'unsafe-inline';/)
  assert.equal(after.text, INDEX)
})

function assertStrict({ headers }: Answer): void {
  const csp = new Map(
    String(headers['content-security-policy'])
      .split('; ')
      .map(part => [part.split(' ')[0], part.split(' ').slice(1).join(' ')]),
  )
  // A file that is not a page may run nothing.
  if (headers['content-type'] === 'text/html; charset=utf-8') {
    assert.equal(csp.get('script-src'), "'self'")
    assert.equal(csp.get('connect-src'), "'self'")
    assert.equal(csp.get('object-src'), "'none'")
    assert.equal(csp.get('form-action'), "'self'")
  }
  assert.equal(csp.get('default-src'), "'none'")
  assert.equal(csp.get('base-uri'), "'none'")
  assert.equal(csp.get('frame-ancestors'), "'none'")
  assert.equal(headers['x-content-type-options'], 'nosniff')
  assert.equal(headers['referrer-policy'], 'no-referrer')
  assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
  assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
}

async function httpBytes(url: string): Promise<Buffer> {
  // fetch decompresses by itself, so the encoding is requested by hand.
  const { request } = await import('node:http')
  const { buffer } = await import('node:stream/consumers')
  return new Promise((resolve, reject) => {
    request(url, { headers: { 'accept-encoding': 'gzip' } }, incoming => {
      assert.equal(incoming.headers['content-encoding'], 'gzip')
      buffer(incoming).then(resolve, reject)
    })
      .on('error', reject)
      .end()
  })
}

async function openSite({ built = true, logo = null as string | null, isStoreDown = false } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-test-'))
  const folder = join(root, 'dist')
  function build(): void {
    mkdirSync(join(folder, 'assets'), { recursive: true })
    mkdirSync(join(folder, 'folder.js'))
    writeFileSync(join(folder, 'index.html'), INDEX)
    writeFileSync(join(folder, 'portal.html'), PORTAL)
    writeFileSync(join(folder, 'favicon.svg'), '<svg/>')
    writeFileSync(join(folder, '.env'), 'TOP SECRET')
    writeFileSync(join(folder, 'assets', 'app-abc123.js'), SCRIPT)
    writeFileSync(join(folder, 'assets', 'app-abc123.js.gz'), gzipSync(SCRIPT))
  }
  writeFileSync(join(root, 'secret.txt'), 'TOP SECRET')
  if (built) build()

  const app = fastify({ exposeHeadRoutes: false })
  sendSecurityHeaders(app, { cameByTls: request => request.headers['x-forwarded-proto'] === 'https' })
  sessionCookies(app)
  dashboard(app, folder)
  assets(app, folder)
  portalPages(app, folder, {
    sessions: {
      async open() {
        if (isStoreDown) throw new StoreUnavailable('the database did not respond in time')
        return { state: 'unknown', returnUrl: null }
      },
    },
    brand: { name: 'Shop', logo, color: null },
    addressOf: request => request.ip,
    cameByTls: () => false,
    hasBegun: () => true,
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return {
    url,
    port: Number(new URL(url).port),
    build,
    get: (path: string, headers: Readonly<Record<string, string>> = {}) => httpCall(url + path, { headers }),
    async [Symbol.asyncDispose]() {
      await app.close()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
