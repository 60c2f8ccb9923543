// Every request that the express path accepts, Node's parser reads in the same way; anything ambiguous, or more than
// one plain request, is left to Node.
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { requestReader } from '../../src/http/express/request-parser.ts'
import { createServer } from '../support/node-http.ts'

const LINE = 'POST /x HTTP/1.1\r\n'
const read = requestReader('POST', ['/x', '/y'], { headersMax: 8, headerBytesMax: 400, bytesMax: 4000 })
const reading = (text: string) => read(Buffer.from(text, 'latin1'))

test('a complete request is parsed: names in lower case, values trimmed', () => {
  const found = reading(`${LINE}Host: a\r\nX-Odd:\t b  c \r\nEmpty:\r\nContent-Length: 5\r\n\r\nhello`)

  assert.ok(typeof found === 'object')
  const { headers, body, ...rest } = found
  assert.deepEqual({ ...headers }, { host: 'a', 'x-odd': 'b  c', empty: '', 'content-length': '5' })
  assert.equal(body.toString(), 'hello')
  assert.deepEqual(rest, { method: 'POST', url: '/x', httpVersion: '1.1', closes: false })
})

test('a request for another of the paths, or with a query, is parsed', () => {
  for (const url of ['/y', '/x?beta=true', '/y?', '/x?a=/?"%20~']) {
    const found = reading(`POST ${url} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello`)
    assert.ok(typeof found === 'object', url)
    assert.deepEqual([found.url, found.headers.host, found.body.toString()], [url, 'a', 'hello'])
  }
})

test("the caller's wish to close the connection is read in any notation", () => {
  const closing = (value: string) => reading(`${LINE}Host: a\r\nConnection: ${value}\r\nContent-Length: 0\r\n\r\n`)

  for (const [value, closes] of [
    ['close', true],
    ['Close', true],
    ['keep-alive', false],
    ['Keep-Alive', false],
  ] as const) {
    const found = closing(value)
    assert.ok(typeof found === 'object' && found.closes === closes, value)
  }
  assert.equal(closing('close, upgrade'), 'other')
})

test('only the end of a body is awaited, and its length is known', () => {
  const head = `${LINE}Host: a\r\nContent-Length: 6\r\n\r\n`

  assert.equal(reading(`${head}hello`), head.length + 6)
  assert.equal(reading(head), head.length + 6)
  assert.equal(reading(`${LINE}Host: a\r\nContent-Length: 6\r\n`), 'other')
  assert.equal(reading(''), 'other')
})

const sized = (headers: string) => `${LINE}Host: a\r\nContent-Length: 5\r\n${headers}\r\nhello`
const OTHERS: Readonly<Record<string, string>> = {
  'another method': sized('').replace('POST', 'GET'),
  'another path': sized('').replace('/x', '/x/y'),
  'a query with a space': sized('').replace('/x', '/x?y z'),
  'a query with a fragment': sized('').replace('/x', '/x?y#z'),
  'a query with a control character': sized('').replace('/x', '/x?y\u0001'),
  'a query of another version': sized('').replace('/x HTTP/1.1', '/x?y HTTP/1.0'),
  'another version': sized('').replace('1.1', '1.0'),
  'a line feed alone': sized('').replaceAll('\r\n', '\n'),
  'no Host': sized('').replace('Host', 'Hos'),
  'two Hosts': sized('host: b\r\n'),
  'two lengths': sized('content-length: 5\r\n'),
  'no length': sized('').replace('Content-Length', 'X-Length'),
  'an invalid length': sized('').replace('5', '+5'),
  'a length in two parts': sized('').replace('5', '5, 5'),
  'an endless length': sized('').replace('5', '5000000000'),
  'a transfer encoding': sized('Transfer-Encoding: chunked\r\n'),
  'an expectation': sized('Expect: 100-continue\r\n'),
  'an upgrade': sized('Upgrade: h2c\r\n'),
  'trailers to come': sized('Trailer: X-A\r\n'),
  'a Proxy-Connection header': sized('Proxy-Connection: close\r\n'),
  'a repeated header': sized('X-A: 1\r\nx-a: 2\r\n'),
  'a space before the colon': sized('X-A : 1\r\n'),
  'a folded line': sized('X-A: 1\r\n 2\r\n'),
  'a line without a colon': sized('X-A\r\n'),
  'an empty name': sized(': 1\r\n'),
  'a control character': sized('X-A: 1\u00002\r\n'),
  'a carriage return inside': sized('X-A: 1\r2\r\n'),
  'a non-ASCII character': sized('X-A: é\r\n'),
  'too many headers': sized('A: 1\r\nB: 1\r\nC: 1\r\nD: 1\r\nE: 1\r\nF: 1\r\nG: 1\r\n'),
  'headers that are too large': sized(`A: ${'a'.repeat(400)}\r\n`),
  'trailing data': `${sized('')}G`,
  'a second request after it': sized('') + sized(''),
}
for (const [what, text] of Object.entries(OTHERS)) {
  test(`${what} is left to Node`, () => assert.equal(reading(text), 'other'))
}

test('sixteen thousand spaces take linear time', () => {
  const huge = requestReader('POST', ['/x', '/y'], { headersMax: 8, headerBytesMax: 20_000, bytesMax: 40_000 })
  const startedAt = performance.now()

  assert.equal(huge(Buffer.from(sized(`A:${' '.repeat(16_000)}\u0001\r\n`), 'latin1')), 'other')

  assert.ok(performance.now() - startedAt < 250)
})

test('every parsed request is parsed by Node as the same request and nothing else', async () => {
  const node = await nodeReader()
  after(node.close)
  const name = fc.constantFrom(
    'Host',
    'host',
    'X-A',
    'x-a',
    'Content-Length',
    'Connection',
    'Accept',
    'User-Agent',
    'Content-Type',
    'Authorization',
    'TE',
    'Cookie',
    'Expect',
    'X A',
    '',
  )
  const value = fc.constantFrom(
    'a',
    '',
    ' a\t',
    '5',
    '05',
    '4',
    'keep-alive',
    'close',
    'gzip, br',
    'é',
    'a\u0000',
    'a\r',
    '"q; x"',
    ',',
  )
  const end = fc.constantFrom('\r\n', '\r\n', '\r\n', '\n', '\r\n ')
  const field = fc.tuple(name, fc.constantFrom(':', ': ', ' :'), value, end).map(parts => parts.join(''))
  const body = fc.constantFrom('hello', 'hello', 'hello', 'hell', '', 'hello!', '{}\r\n\r\n')
  const usual = fc.constantFrom('Host: a\r\n', 'Host: a\r\nContent-Length: 5\r\n')
  const target = fc.constantFrom('/x', '/y', '/x?a=b', '/x?', '/x?a b', '/x?"\'{}|', '/x?é', '/x?#', '/x?a\t')
  let read = 0

  await fc.assert(
    fc.asyncProperty(target, usual, fc.array(field, { maxLength: 5 }), body, async (url, first, fields, content) => {
      const text = `POST ${url} HTTP/1.1\r\n${first}${fields.join('')}\r\n${content}`
      const found = reading(text)
      if (typeof found !== 'object') return
      read += 1
      assert.deepEqual(await node.read(text), [
        { url, headers: { ...found.headers }, body: found.body.toString('latin1') },
      ])
    }),
    { numRuns: 10_000 },
  )
  assert.ok(read > 100, `only ${read} were read`)
})

type Seen = { readonly url: string | undefined; readonly headers: IncomingHttpHeaders; readonly body: string }

// All requests that Node finds in a text, and its result for the rest.
async function nodeReader() {
  let seen: (Seen | string)[] = []
  const server = createServer({ requireHostHeader: false }, (req, res) => {
    const pieces: Buffer[] = []
    req.on('data', piece => pieces.push(piece))
    req.on('end', () => {
      seen.push({ url: req.url, headers: { ...req.headers }, body: Buffer.concat(pieces).toString('latin1') })
      res.end()
    })
  })
  server.on('clientError', (error, socket) => {
    seen.push(error.message)
    socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    async read(text: string): Promise<readonly (Seen | string)[]> {
      seen = []
      const socket = connect(port, '127.0.0.1')
      socket.end(text, 'latin1')
      socket.resume()
      await new Promise(resolve => socket.on('close', resolve))
      return seen
    },
    close: () => server.close(),
  }
}

test('a request that is too large for this path is recognised from its first piece on', () => {
  const head = (length: number) => `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`
  const fits = 4000 - head(3000).length

  assert.equal(read(Buffer.from(head(fits))), 4000)
  assert.equal(read(Buffer.from(head(fits + 1))), 'other')
})
