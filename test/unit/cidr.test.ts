// Addresses, ranges and the client's address, compared with plain arithmetic on bigints.

import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemClock } from '../../src/lib/clock.ts'
import {
  type Address,
  addressBlock,
  BadCidr,
  clientAddress,
  parseAddress,
  parseCidrs,
} from '../../src/lib/ip-address.ts'

const ipv4 = fc.ipV4()
const ipv6 = fc.oneof(
  fc.ipV6(),
  fc
    .array(fc.constantFrom('0', '0', '0', '1', 'ffff', '10', 'A0b'), { minLength: 8, maxLength: 8 })
    .map(all => all.join(':')),
)

test("the parser accepts exactly the platform's addresses, without zones, with the same value", () => {
  const letter = fc.constantFrom(...'0123456789abcfF:::...%x/ '.split(''))
  const text = fc.oneof(ipv4, ipv6, fc.string({ unit: letter, maxLength: 20 }), ipv6.map(spoil), ipv4.map(spoil))
  fc.assert(
    fc.property(text, text => {
      const address = parseAddress(text)

      if (isIP(text) === 0 || text.includes('%')) assert.equal(address, undefined)
      else {
        assert.equal(numberOf(address), referenceValue(text))
        assert.equal(address?.family, isIP(address?.text ?? ''))
      }
    }),
    { numRuns: 20_000 },
  )
})

test('an address has one text, in the canonical form of RFC 5952, which parses to the same address', () => {
  fc.assert(
    fc.property(ipv6, text => {
      const address = parseAddress(text)
      assert.ok(address)

      if (address.family === 6) assert.equal(`[${address.text}]`, new URL(`http://[${text}]`).hostname)
      assert.deepEqual(parseAddress(address.text), address)
      assert.deepEqual(parseAddress(text.toUpperCase()), address)
    }),
    { numRuns: 3000 },
  )
})

test('an IPv4-mapped address is the IPv4 address in any spelling', () => {
  for (const text of [
    '::ffff:10.1.2.3',
    '::FFFF:10.1.2.3',
    '::ffff:a01:203',
    '0:0:0:0:0:ffff:0a01:0203',
    '0::ffff:10.1.2.3',
  ]) {
    assert.deepEqual(parseAddress(text), parseAddress('10.1.2.3'), text)
  }
})

test('compatible, NAT64 and 6to4 addresses stay IPv6', () => {
  for (const text of ['::10.1.2.3', '64:ff9b::10.1.2.3', '2002:a01:203::', '::ffff:0:10.1.2.3', '::1', '::']) {
    assert.equal(parseAddress(text)?.family, 6, text)
  }
})

test('octal, decimal, hexadecimal, short, padded and decorated forms are refused', () => {
  const odd = [
    '010.1.2.3',
    '10.1.2',
    '167837955',
    '0x0a010203',
    '0xa.1.2.3',
    '10.1.2.3.',
    '10.1.2.256',
    '10.1.2.3.4',
    '',
  ]
  const spaced = [
    ' 10.1.2.3',
    '10.1.2.3 ',
    '10.1.2.3\n',
    '10.1.2.3:80',
    '[::1]',
    '[::1]:80',
    '::1%eth0',
    'fe80::1%1',
    '١.1.1.1',
  ]
  const long = [
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1::2::3',
    ':::',
    ':1',
    '1:',
    '12345::',
    '::1.2.3',
    '1.2.3.4::',
    'unknown',
  ]
  for (const text of [
    ...odd,
    ...spaced,
    ...long,
    '::ffff:010.1.2.3',
    '::ffff:::1.2.3.4',
    '1:2:3:4:5:6:7:1.2.3.4',
    '::1.2.3.4:1.2.3.4',
  ]) {
    assert.equal(parseAddress(text), undefined, JSON.stringify(text))
  }
})

test('an address is in a set exactly if its leading bits are those of an entry of its family', () => {
  const any = fc.oneof(
    fc.record({ bits: fc.constant(32), value: near(32), prefix: fc.nat(32) }),
    fc.record({ bits: fc.constant(128), value: near(128), prefix: fc.nat(128) }),
  )
  fc.assert(
    fc.property(fc.array(any, { maxLength: 8 }), fc.array(any, { minLength: 1, maxLength: 8 }), (entries, probes) => {
      const set = parseCidrs(
        entries.map(({ bits, value, prefix }) => `${write(bits, masked(bits, value, prefix))}/${prefix}`),
      )

      for (const written of [...probes, ...entries]) {
        const probe = unmapped({ ...written, prefix: written.bits })
        const expected = entries
          .map(unmapped)
          .some(
            ({ bits, value, prefix }) =>
              bits === probe.bits && masked(bits, value, prefix) === masked(bits, probe.value, prefix),
          )
        assert.equal(set.has(address(write(written.bits, written.value))), expected)
      }
    }),
    { numRuns: 5000 },
  )
})

test('a mapped range is the IPv4 range, and an IPv6 range never holds an IPv4 address', () => {
  assert.ok(holds(['::ffff:10.0.0.0/104'], '10.200.0.1'))
  assert.ok(!holds(['::ffff:10.0.0.0/104'], '11.0.0.1'))
  assert.ok(holds(['::ffff:0:0/96'], '1.2.3.4'))
  assert.ok(holds(['10.0.0.0/8'], '::ffff:10.1.2.3'))
  assert.ok(!holds(['::/0'], '10.1.2.3'))
  assert.ok(!holds(['0.0.0.0/0'], '::1'))
})

test('an entry without a prefix is a single address', () => {
  assert.ok(holds(['10.0.0.1', '2001:db8::1'], '10.0.0.1'))
  assert.ok(!holds(['10.0.0.1', '2001:db8::1'], '10.0.0.2'))
  assert.ok(!holds(['10.0.0.1', '2001:db8::1'], '2001:db8::2'))
})

test('a list with an invalid entry is an error that names it, never a shorter list', () => {
  const bad = [
    '',
    ' ',
    '10.0.0.0/33',
    '10.0.0.1/8',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '10.0.0.0/8 ',
  ]
  const worse = [
    '::/129',
    '2001:db8::1/64',
    '::ffff:10.0.0.0/95',
    '::ffff:0:0/0',
    'localhost',
    '*',
    '10.*',
    '10.0.0.0-10.0.0.9',
  ]
  for (const entry of [...bad, ...worse, '10.0.0.0/0x8', '10.0.0.0/8.0', '/8', 'fe80::%eth0/10']) {
    assert.throws(
      () => parseCidrs(['127.0.0.1', entry, '10.0.0.0/8']),
      error =>
        error instanceof BadCidr && error.index === 1 && error.entry === entry && error.message.includes('entry 1'),
      JSON.stringify(entry),
    )
  }
})

test('only a list without entries is empty, and it holds nothing', () => {
  assert.equal(parseCidrs([]).isEmpty, true)
  assert.equal(parseCidrs(['::1']).isEmpty, false)
  assert.ok(!holds([], '127.0.0.1'))
})

test('the block of an address is the address itself for IPv4 and the /64 for IPv6', () => {
  const block = (text: string) => addressBlock(address(text))

  assert.equal(block('10.1.2.3'), '10.1.2.3')
  assert.equal(block('::ffff:10.1.2.3'), '10.1.2.3')
  assert.equal(block('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(block('2001:db8:1:2:ffff::'), '2001:db8:1:2::/64')
  assert.equal(block('::1'), '::/64')
})

test('the peer is the client, and its forwarding headers are ignored unless it is trusted', () => {
  assert.equal(client('203.0.113.9', ['1.1.1.1'], []), '203.0.113.9')
  assert.equal(client('203.0.113.9', ['garbage'], ['10.0.0.0/8']), '203.0.113.9')
  assert.equal(client('::ffff:203.0.113.9', [], ['10.0.0.0/8']), '203.0.113.9')
})

test('behind trusted proxies the client is the first address from the right that is not trusted', () => {
  const trusted = ['10.0.0.0/8', '2001:db8::/32']

  assert.equal(client('10.0.0.1', ['6.6.6.6, 1.1.1.1'], trusted), '1.1.1.1')
  assert.equal(client('10.0.0.1', ['6.6.6.6', '1.1.1.1 ,\t10.0.0.2', '2001:db8::7'], trusted), '1.1.1.1')
  assert.equal(client('::ffff:10.0.0.1', ['::ffff:1.1.1.1'], trusted), '1.1.1.1')
})

test('if every hop is trusted, the leftmost is the client', () => {
  assert.equal(client('10.0.0.1', ['10.0.0.3, 10.0.0.2'], ['10.0.0.0/8']), '10.0.0.3')
  assert.equal(client('10.0.0.1', [], ['10.0.0.0/8']), '10.0.0.1')
})

test("an unreadable hop makes the client unknown, but only if it comes before the client's", () => {
  const trusted = ['10.0.0.0/8']

  for (const hop of [
    '',
    'unknown',
    '1.1.1.1:80',
    '[::1]',
    '"1.1.1.1"',
    '1.1.1.1;x',
    '_hidden',
    '01.1.1.1',
    'fe80::1%eth0',
  ]) {
    assert.equal(client('10.0.0.1', [hop], trusted), undefined, hop)
    assert.equal(client('10.0.0.1', [`1.1.1.1, ${hop}, 10.0.0.2`], trusted), undefined, hop)
    assert.equal(client('10.0.0.1', [hop, '1.1.1.1, 10.0.0.2'], trusted), '1.1.1.1', hop)
  }
  assert.equal(client(undefined, ['1.1.1.1'], trusted), undefined)
  assert.equal(client('', ['1.1.1.1'], trusted), undefined)
})

test('a header full of spaces is read in linear time', () => {
  const began = systemClock.monotonic()

  assert.equal(client('10.0.0.1', [`x${' '.repeat(200_000)}x`], ['10.0.0.0/8']), undefined)
  assert.equal(client('10.0.0.1', [`${' '.repeat(200_000)}1.1.1.1\t`], ['10.0.0.0/8']), '1.1.1.1')
  assert.equal(client('10.0.0.1', ['\u00a01.1.1.1'], ['10.0.0.0/8']), undefined)

  assert.ok(systemClock.monotonic() - began < 1000)
})

function address(text: string): Address {
  return parseAddress(text) ?? assert.fail(text)
}

function holds(entries: readonly string[], text: string): boolean {
  return parseCidrs(entries).has(address(text))
}

function client(
  peer: string | undefined,
  forwardedFor: readonly string[],
  trusted: readonly string[],
): string | undefined {
  return clientAddress(peer, forwardedFor, parseCidrs(trusted))?.text
}

function spoil(text: string): string {
  return text.replace(/[.:]/, match => match + match)
}

// The value with the family in front, so that 1 of IPv4 is not 1 of IPv6.
function numberOf(address: Address | undefined): string | undefined {
  return address && referenceValue(address.text)
}

function referenceValue(text: string): string {
  if (isIP(text) === 4) return `4 ${quad(text)}`
  const plain = text.replace(
    /[^:]*\..*$/,
    dotted => `${(quad(dotted) >> 16n).toString(16)}:${(quad(dotted) & 0xffffn).toString(16)}`,
  )
  const [left = '', right] = plain.split('::')
  const head = left.split(':').filter(Boolean)
  const tail = (right ?? '').split(':').filter(Boolean)
  const groups = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail]
  const value = BigInt(`0x${groups.map(group => group.padStart(4, '0')).join('')}`)
  return value >> 32n === 0xffffn ? `4 ${value & 0xffffffffn}` : `6 ${value}`
}

function quad(text: string): bigint {
  return text.split('.').reduce((value, octet) => value * 256n + BigInt(octet), 0n)
}

// Values close to each other and to the ends, so that ranges meet, nest and repeat.
function near(bits: number): fc.Arbitrary<bigint> {
  const top = 2n ** BigInt(bits)
  const base = fc.constantFrom(0n, top - 4n, top / 2n, (top / 16n) * 10n, 0xffff_0000_0004n % top)
  const offset = fc.oneof(
    fc.bigInt(-4n, 4n),
    fc.nat(bits - 1).map(shift => 1n << BigInt(shift)),
  )
  return fc.tuple(base, offset).map(([from, by]) => (((from + by) % top) + top) % top)
}

type Written = { readonly bits: number; readonly value: bigint; readonly prefix: number }

function unmapped({ bits, value, prefix }: Written): Written {
  const isMapped = bits === 128 && value >> 32n === 0xffffn && prefix >= 96
  return isMapped ? { bits: 32, value: value & 0xffffffffn, prefix: prefix - 96 } : { bits, value, prefix }
}

function masked(bits: number, value: bigint, prefix: number): bigint {
  const host = BigInt(bits - prefix)
  return (value >> host) << host
}

function write(bits: number, value: bigint): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map(shift => (value >> shift) & 255n).join('.')
  return Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':')
}
