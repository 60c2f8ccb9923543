// Network settings from the environment: whether the fast path is on, and the proxy of an upstream.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadConfig } from '../../src/config/bad-config.ts'
import { mayUseFastPath, readNetwork } from '../../src/config/env.ts'
import { proxyFor } from '../../src/upstream/open-client.ts'

test('the fast path is on unless TURNPIKE_FAST_PATH=0, and never on Windows', () => {
  assert.deepEqual(
    ['linux', 'darwin', 'freebsd', 'win32'].map(platform => mayUseFastPath(true, platform)),
    [true, true, true, false],
  )
  assert.equal(mayUseFastPath(false, 'linux'), false)
  assert.equal(readNetwork({}, 'linux').fastPath, true)
  assert.equal(readNetwork({ TURNPIKE_FAST_PATH: '0' }, 'linux').fastPath, false)
  assert.equal(readNetwork({ TURNPIKE_FAST_PATH: '1' }, 'win32').fastPath, false)
  assert.throws(() => readNetwork({ TURNPIKE_FAST_PATH: 'maybe' }, 'linux'), BadConfig)
})

test('proxies are read in lower and upper case, lower case first, with or without a scheme', () => {
  const { proxies } = readNetwork({
    http_proxy: 'proxy.example:3128',
    HTTP_PROXY: 'http://other.example:1',
    HTTPS_PROXY: 'https://user:p%40ss@proxy.example',
    no_proxy: 'a.example, .b.example  10.0.0.0/8,,',
  })

  assert.deepEqual(proxies, {
    http: 'http://proxy.example:3128/',
    https: 'https://user:p%40ss@proxy.example/',
    exempt: ['a.example', '.b.example', '10.0.0.0/8'],
  })
})

test('an invalid proxy stops the start, and its password is not repeated', () => {
  for (const value of ['socks5://user:secret@a.example', 'http://user:secret@a.example/path', 'http://a:secret%@b']) {
    assert.throws(
      () => readNetwork({ HTTPS_PROXY: value }),
      (error: Error) =>
        error instanceof BadConfig && /HTTPS_PROXY/.test(error.message) && !/secret/.test(error.message),
      value,
    )
  }
})

const NAMED = { http: 'http://plain.example:3128/', https: 'http://secure.example:3128/', exempt: [] as string[] }
const through = (url: string, exempt: readonly string[] = []) =>
  proxyFor(new URL(url), {}, { ...NAMED, exempt })?.url.host

test('an upstream is called through the proxy for its scheme', () => {
  assert.equal(through('https://api.example/v1'), 'secure.example:3128')
  assert.equal(through('http://api.example/v1'), 'plain.example:3128')
  assert.equal(proxyFor(new URL('http://api.example'), {}, { ...NAMED, http: undefined }), undefined)
})

test('loopback addresses are called directly, whatever the environment sets', () => {
  for (const host of ['localhost', 'a.localhost', '127.0.0.1', '127.9.9.9', '[::1]', '[::ffff:127.0.0.1]'])
    assert.equal(through(`http://${host}:11434/v1`), undefined, host)
})

for (const [entry, covered, others] of [
  ['*', ['https://a.example', 'http://10.1.2.3'], []],
  ['a.example', ['https://a.example', 'https://b.A.example'], ['https://aa.example', 'https://example']],
  ['.a.example', ['https://b.a.example', 'https://a.example'], ['https://ba.example']],
  ['*.a.example', ['https://b.a.example'], ['https://b.example']],
  ['a.example:8443', ['https://a.example:8443'], ['https://a.example']],
  ['a.example:443', ['https://a.example'], ['http://a.example']],
  ['10.1.2.3', ['http://10.1.2.3'], ['http://10.1.2.4', 'http://10.1.2.3.example']],
  ['10.0.0.0/8', ['http://10.9.9.9'], ['http://11.0.0.1', 'http://a.example']],
  ['[2001:db8::1]:8080', ['http://[2001:db8::1]:8080'], ['http://[2001:db8::1]']],
  ['2001:db8::/32', ['http://[2001:db8::5]'], ['http://[2001:db9::5]']],
  ['.', [], ['https://a.example']],
] as const) {
  test(`NO_PROXY=${entry} exempts exactly its hosts`, () => {
    for (const url of covered) assert.equal(through(url, [entry]), undefined, url)
    for (const url of others) assert.notEqual(through(url, [entry]), undefined, url)
  })
}

test("a provider's own proxy takes precedence over the environment's, also for loopback, and NO_PROXY does not apply to it", () => {
  const own = { proxy: 'http://own.example:8080', proxyCredentials: 'user:p%40ss' }

  const proxy = proxyFor(new URL('http://127.0.0.1:1'), own, { ...NAMED, exempt: ['*'] })

  assert.equal(proxy?.url.href, 'http://own.example:8080/')
  assert.equal(proxy?.authorization, `Basic ${Buffer.from('user:p@ss').toString('base64')}`)
  assert.equal(proxy?.publicOnly, false)
  assert.equal(proxyFor(new URL('http://a'), { ...own, publicOnly: true }, NAMED)?.publicOnly, true)
})

test('the credentials of a proxy in the environment are removed from its URL', () => {
  const proxy = proxyFor(new URL('http://a.example'), {}, { ...NAMED, http: 'http://user:secret@plain.example:3128' })

  assert.equal(proxy?.url.href, 'http://plain.example:3128/')
  assert.equal(proxy?.authorization, `Basic ${Buffer.from('user:secret').toString('base64')}`)
})
