// An unknown path is a page for browsers, and JSON for programs.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'
import { httpCall } from '../../support/http-call.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
const gateway = await startGateway()
after(() => gateway[Symbol.asyncDispose]())
const get = (path: string, headers: Record<string, string>, method = 'GET') =>
  httpCall(`${gateway.url}${path}`, { method, headers })

test('a browser gets a page that leads on, with the policy of pages', async () => {
  for (const path of ['/nowhere', '/nowhere/else', '/billing?x=1', '/none.html']) {
    const { status, headers, text } = await get(path, BROWSER)
    assert.equal(status, 404, path)
    assert.match(String(headers['content-type']), /^text\/html/)
    assert.match(text, /Page not found/)
    assert.match(text, /href="\/docs"/)
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    assert.ok(headers['x-request-id'])
  }
})

test('programs get JSON, and so does everybody under the APIs', async () => {
  for (const [path, headers, method] of [
    ['/nowhere', {}, 'GET'],
    ['/nowhere', { accept: '*/*' }, 'GET'],
    ['/nowhere', { accept: 'application/json' }, 'GET'],
    ['/nowhere', BROWSER, 'POST'],
    ['/v1/nowhere', BROWSER, 'GET'],
    ['/admin/v1/nowhere', BROWSER, 'GET'],
  ] as const) {
    const answer = await get(path, headers, method)
    assert.match(String(answer.headers['content-type']), /^application\/json/, path)
    assert.ok(answer.status === 404 || answer.status === 401, path)
  }
})
