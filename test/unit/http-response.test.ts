// Responses are parsed the same for any split, as Node's own client does; ambiguous ones are refused, and nothing is
// read past a response's end.
import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { BadResponse } from '../../src/upstream/connection-failure.ts'
import { responseParser } from '../../src/upstream/http1/response-parser.ts'
import { request } from '../support/node-http.ts'

type Seen = { status: number; headers: Record<string, string>; body: string; ended: boolean; reusable: boolean }

const LIMITS = { headBytesMax: 1024 }

function reading() {
  const seen: Seen = { status: 0, headers: {}, body: '', ended: false, reusable: false }
  const reader = responseParser(
    {
      head(status, headers) {
        seen.status = status
        seen.headers = Object.fromEntries(headers)
      },
      data(bytes) {
        seen.body += bytes.toString('latin1')
      },
      end(reusable) {
        seen.ended = true
        seen.reusable = reusable
      },
    },
    LIMITS,
  )
  reader.expect()
  return { reader, seen }
}

// As from a socket: every piece in a buffer that may be overwritten.
function read(text: string, cuts: readonly number[] = []): Seen {
  const { reader, seen } = reading()
  const bytes = Buffer.from(text, 'latin1')
  const edges = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  for (const to of [...edges, bytes.length]) {
    const piece = Buffer.from(bytes.subarray(from, to))
    if (piece.length > 0) reader.read(piece)
    piece.fill(0x21)
    from = to
  }
  return seen
}

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n'
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`

const READ: readonly (readonly [what: string, text: string, body: string, reusable: boolean])[] = [
  ['a body of a known length', `${HEAD}Content-Length: 5\r\n\r\nhello`, 'hello', true],
  ['an empty body', `${HEAD}Content-Length: 0\r\n\r\n`, '', true],
  ['chunks', `${CHUNKED}5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n`, 'hello world', true],
  ['chunks with extensions', `${CHUNKED}5;a="b"\r\nhello\r\n0 ; x\r\n\r\n`, 'hello', true],
  ['chunks with trailers', `${CHUNKED}A\r\n0123456789\r\n0\r\nX-A: b\r\nX-C: d\r\n\r\n`, '0123456789', true],
  ['line ends inside of chunks', `${CHUNKED}4\r\n\r\n\r\n\r\n0\r\n\r\n`, '\r\n\r\n', true],
  [
    'interim heads',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n${HEAD}Content-Length: 2\r\n\r\nok`,
    'ok',
    true,
  ],
  ['sizes with padding', `${CHUNKED}${'1      \r\nx\r\n'.repeat(300)}0\r\n\r\n`, 'x'.repeat(300), true],
  ['no body by its status', 'HTTP/1.1 204 No Content\r\n\r\n', '', true],
  ['an announced end of the connection', `${HEAD}Connection: close\r\nContent-Length: 2\r\n\r\nok`, 'ok', false],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', 'ok', false],
  ['data after its end', `${HEAD}Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n`, 'ok', false],
]

for (const [what, text, body, reusable] of READ) {
  test(`a response with ${what} is parsed the same for any split`, () => {
    assert.deepEqual([read(text).body, read(text).ended, read(text).reusable], [body, true, reusable])
    if (what === 'data after its end') return
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 12 }), cuts => {
        const seen = read(text, cuts)
        assert.deepEqual([seen.body, seen.ended, seen.reusable], [body, true, reusable])
      }),
      { numRuns: 300 },
    )
    const everywhere = Array.from({ length: text.length }, (_, i) => i)
    assert.equal(read(text, everywhere).body, body)
  })
}

const REFUSED: readonly (readonly [what: string, text: string])[] = [
  ['both a length and chunks', `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['two lengths', `${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ['a length with a sign', `${HEAD}Content-Length: +5\r\n\r\nhello`],
  ['a length in a list', `${HEAD}Content-Length: 5, 5\r\n\r\nhello`],
  ['an unknown transfer encoding', `${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['two transfer encodings', `${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['a folded header', `${HEAD}X-A: b\r\n c: d\r\nContent-Length: 0\r\n\r\n`],
  ['a space before the colon', `${HEAD}Content-Length : 0\r\n\r\n`],
  ['a header without a name', `${HEAD}: x\r\n\r\n`],
  ['a header without a colon', `${HEAD}hello\r\nContent-Length: 0\r\n\r\n`],
  ['a bare line feed', `${HEAD}X-A: b\nContent-Length: 0\r\n\r\n`],
  ['a bare carriage return', `${HEAD}X-A: b\rc\r\nContent-Length: 0\r\n\r\n`],
  ['a NUL', `${HEAD}X-A: \0\r\nContent-Length: 0\r\n\r\n`],
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
  ['a switch of protocols', 'HTTP/1.1 101 Switching\r\n\r\n'],
  ['endless interim headers', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(9)],
  ['endless headers', `${HEAD}X-A: ${'b'.repeat(1100)}`],
  ['headers that are too large', `${HEAD}X-A: ${'b'.repeat(1100)}\r\n\r\n`],
  ['a chunk without a size', `${CHUNKED}\r\nhello\r\n0\r\n\r\n`],
  ['a chunk size with a sign', `${CHUNKED}-5\r\nhello\r\n0\r\n\r\n`],
  ['a chunk size in 0x', `${CHUNKED}0x5\r\nhello\r\n0\r\n\r\n`],
  ['a huge chunk size', `${CHUNKED}fffffffff\r\nhello`],
  ['a chunk size ended by a line feed', `${CHUNKED}5\nhello\r\n0\r\n\r\n`],
  ['a chunk longer than its size', `${CHUNKED}4\r\nhello\r\n0\r\n\r\n`],
  ['a line feed in an extension', `${CHUNKED}5;a\nb\r\nhello\r\n0\r\n\r\n`],
  ['an endless extension', `${CHUNKED}5;${'x'.repeat(1100)}`],
  ['endless trailers', `${CHUNKED}0\r\n${'A: b\r\n'.repeat(300)}`],
]

for (const [what, text] of REFUSED) {
  test(`a response with ${what} is refused for any split`, () => {
    assert.throws(() => read(text), BadResponse)
    const everywhere = Array.from({ length: text.length }, (_, i) => i)
    assert.throws(() => read(text, everywhere), BadResponse)
  })
}

test('what came before malformed framing is passed on, however it is cut', () => {
  const good = `${CHUNKED}5\r\nhello\r\n6\r\n world\r\n`
  for (const bad of ['x\r\n', '0\r\nno trailer\r\n\r\n', `0\r\nX-A: ${'a'.repeat(2000)}`]) {
    for (let cut = 1; cut <= good.length; cut++) {
      const { reader, seen } = reading()
      reader.read(Buffer.from(good.slice(0, cut)))
      assert.throws(() => reader.read(Buffer.from(good.slice(cut) + bad)), BadResponse)
      assert.deepEqual([seen.body, seen.ended], ['hello world', false], `${cut} ${bad}`)
    }
  }
})

test('a body without a length lasts until the connection ends, and a truncated one is detected', () => {
  const open = reading()
  open.reader.read(Buffer.from(`${HEAD}\r\nall `))
  open.reader.read(Buffer.from('of it'))
  const cut = reading()
  cut.reader.read(Buffer.from(`${HEAD}Content-Length: 9\r\n\r\nhalf`))

  assert.deepEqual(
    [open.reader.ended(), open.seen.body, open.seen.ended, open.seen.reusable],
    [true, 'all of it', true, false],
  )
  assert.deepEqual([cut.reader.ended(), cut.seen.ended], [false, false])
})

test('data that is not HTTP is refused at its first bytes, without an end of its headers', () => {
  for (const text of ['SSH-2.0-OpenSSH_9.2\r\n', '\x01', 'HTTP/2', 'HTTP/1x', '\r\n', '<html>']) {
    assert.throws(() => reading().reader.read(Buffer.from(text)), BadResponse, text)
  }
  for (const text of ['H', 'HTTP/1.', 'HTTP/1.1 20']) reading().reader.read(Buffer.from(text))
})

test('unrequested data is refused, and the next response is read from its beginning', () => {
  const { reader, seen } = reading()
  reader.read(Buffer.from(`${HEAD}Content-Length: 1\r\n\r\n1`))

  assert.throws(() => reader.read(Buffer.from('x')), BadResponse)
  reader.expect()
  reader.read(Buffer.from(`HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 1\r\n\r\n2`))
  assert.deepEqual([seen.status, seen.headers['retry-after'], seen.body], [503, '7', '12'])
})

// The reference is Node's own client, which uses llhttp.
const sockets = new Set<Socket>()
let answer = ''
const server = createServer(socket => {
  sockets.add(socket.on('error', () => undefined))
  socket.once('data', () => socket.end(answer, 'latin1'))
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
after(() => {
  for (const socket of sockets) socket.destroy()
  server.close()
})

function byNode(text: string): Promise<string | undefined> {
  answer = text
  const { port } = server.address() as { port: number }
  return new Promise(resolve => {
    const call = request({ port, host: '127.0.0.1', agent: false, method: 'POST' }, response => {
      let body = ''
      response.setEncoding('latin1')
      response.on('data', (piece: string) => {
        body += piece
      })
      response.on('end', () => resolve(response.complete ? body : undefined))
      response.on('error', () => resolve(undefined))
    })
    call.on('error', () => resolve(undefined))
    call.end()
  })
}

test("every complete response is read by Node's client with the same body", async () => {
  const word = fc.constantFrom('', 'a', 'hello', '\r\n', '0\r\n\r\n', ' ', ';', 'ÿ')
  const noise = fc.constantFrom(
    '',
    '',
    '',
    'X-A: b\r\n',
    'Content-Length: 3\r\n',
    'Transfer-Encoding: chunked\r\n',
    ' x\r\n',
  )
  const texts = fc
    .record({
      noise,
      words: fc.array(word, { maxLength: 5 }),
      sizeOff: fc.constantFrom(0, 0, 0, 0, 1, -1),
      behind: word,
    })
    .map(({ noise: more, words, sizeOff, behind }) => {
      const chunks = words
        .filter(each => each !== '')
        .map(each => `${Math.max(0, each.length + sizeOff).toString(16)}\r\n${each}\r\n`)
      return `${HEAD}${more}Transfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n${behind}`
    })
  await fc.assert(
    fc.asyncProperty(texts, async text => {
      let mine: Seen | undefined
      try {
        mine = read(text)
      } catch (error) {
        assert.ok(error instanceof BadResponse)
      }
      if (mine?.reusable === true) assert.equal(await byNode(text), mine.body)
    }),
    { numRuns: 400 },
  )
})
