// Which addresses are public: every known way around such a filter is refused.
import assert from 'node:assert/strict'
import dns from 'node:dns'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { hostOf, isPublicAddress, publicLookup, requirePublic } from '../../src/lib/egress.ts'
import { openSocket } from '../../src/upstream/open-socket.ts'

const NOT_PUBLIC = [
  ['this host', '0.0.0.0', '0.1.2.3', '::'],
  ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
  ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254'],
  ['link-local and metadata', '169.254.169.254', '169.254.0.1', 'fe80::1', 'febf::1', '168.63.129.16'],
  ['carrier-grade NAT', '100.64.0.1', '100.127.255.255', '100.100.100.200'],
  ['protocol assignments', '192.0.0.192', '192.88.99.1', '198.18.0.1', '198.19.255.255'],
  ['documentation', '192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  ['multicast, reserved, broadcast', '224.0.0.1', '239.1.1.1', '240.0.0.1', '255.255.255.255', 'ff02::1'],
  ['mapped', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:169.254.169.254', '0:0:0:0:0:ffff:10.0.0.1'],
  ['compatible and translated', '::127.0.0.1', '::7f00:1', '::ffff:0:127.0.0.1'],
  ['NAT64', '64:ff9b::7f00:1', '64:ff9b::10.0.0.1', '64:ff9b:1::1'],
  ['6to4 and Teredo', '2002:7f00:1::', '2002:a00:1::1', '2001::1', '2001:0:7f00:1::'],
  ['site-local', 'fec0::1', 'feff::1'],
  ['discard-only and unassigned', '100::1', '4000::1', '5f00::1'],
  ['not an address', '', 'localhost', '127.1', '0x7f.0.0.1', '2130706433', '0177.0.0.1', 'fe80::1%eth0', '10.0.0.1 '],
] as const

for (const [what, ...addresses] of NOT_PUBLIC) {
  test(`${what} is not public`, () => {
    for (const address of addresses) assert.equal(isPublicAddress(address), false, address)
  })
}

test('addresses of the public internet are, up to the edges of the private ranges', () => {
  const open = ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255']
  const more = ['172.15.255.255', '172.32.0.0', '192.167.255.255', '223.255.255.255', '2606:4700:4700::1111', '2a00::1']

  for (const address of [...open, ...more]) assert.equal(isPublicAddress(address), true, address)
})

test("a URL's host is checked as the connection will see it, in any notation", async () => {
  const written = ['2130706433', '0x7f000001', '0177.0.0.1', '127.1', '0', '[::ffff:10.0.0.1]', '[::1]', '①②⑦.⓪.⓪.①']
  for (const host of written) {
    await assert.rejects(requirePublic(hostOf(new URL(`http://${host}/v1`))), /not a public address/, host)
  }
  await requirePublic(hostOf(new URL('https://[2606:4700:4700::1111]/v1')))
})

test('a name is public if all of its addresses are, also at the moment of connecting', async () => {
  await assert.rejects(requirePublic('localhost'), /not a public address/)
  await assert.rejects(requirePublic('localhost.'), /not a public address|ENOTFOUND|EAI_AGAIN/)
  await assert.rejects(requirePublic('no-such-name.invalid'), /ENOTFOUND|EAI_AGAIN/)

  for (const all of [true, false]) {
    const error = await new Promise(resolve => publicLookup('localhost', { all }, failure => resolve(failure)))
    assert.equal((error as { code?: unknown }).code, 'ENOTPUBLIC')
  }
})

test('a name that was public when it was checked, and is private when it is called, is not connected to', async t => {
  let connections = 0
  const server = createServer(socket => {
    connections++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const answers = [['93.184.215.14'], ['127.0.0.1', '::1'], ['::ffff:127.0.0.1']]
  const asked = resolveTo(t, () => answers.shift() ?? [])
  const url = new URL(`http://rebinds.example:${(server.address() as AddressInfo).port}`)

  await requirePublic(hostOf(url))
  for (let call = 0; call < 2; call++) {
    const socket = openSocket({ url, publicOnly: true })
    const [error] = await Promise.race([once(socket, 'error'), once(socket, 'connect')])
    assert.equal(error?.code, 'ENOTPUBLIC')
  }

  assert.deepEqual([connections, asked.length], [0, 3])
})

test('of a name with public and private addresses, only the public ones that were checked are connected to', async t => {
  const asked = resolveTo(t, () => ['127.0.0.1', '2606:4700:4700::1111', '93.184.215.14', '10.0.0.1'])
  const open = await new Promise(resolve =>
    publicLookup('mixed.example', { all: true }, (_error, addresses) => resolve(addresses)),
  )

  assert.deepEqual(open, [
    { address: '2606:4700:4700::1111', family: 6 },
    { address: '93.184.215.14', family: 4 },
  ])
  assert.deepEqual(asked, ['mixed.example'])
})

// Names are resolved by this function for the rest of the test. Returns the names that were.
function resolveTo(t: TestContext, answer: () => readonly string[]): readonly string[] {
  const asked: string[] = []
  const resolver = (
    host: string,
    _options: object,
    done: (error: null, found: readonly dns.LookupAddress[]) => void,
  ) => {
    asked.push(host)
    const found = answer().map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    setImmediate(done, null, found)
  }
  const mocked = t.mock.method(dns, 'lookup', resolver as never)
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
  return asked
}
