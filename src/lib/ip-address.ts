// Parses addresses and ranges, and determines the address that a request comes from. Anything not in the plain notation is
// refused, and an invalid list is an error: it must never be treated as empty.

export type Address = Ipv4 | Ipv6
// `text` is the canonical form (RFC 5952) and can be used as a key: one address, one text.
type Ipv4 = { readonly family: 4; readonly value: number; readonly text: string }
type Ipv6 = { readonly family: 6; readonly value: bigint; readonly text: string }

export type CidrSet = {
  readonly isEmpty: boolean
  has(address: Address): boolean
}

export class BadCidr extends Error {
  override readonly name = 'BadCidr'
  readonly entry: string
  readonly index: number
  constructor(entry: string, index: number, why: string) {
    super(`entry ${index} (${JSON.stringify(entry.slice(0, 64))}) is not an address or range: ${why}`)
    this.entry = entry
    this.index = index
  }
}

// IPv4 as four plain decimal numbers, IPv6 without a zone. IPv4-mapped IPv6, in any notation, is the IPv4 address (a dual-stack
// socket reports every IPv4 peer that way); IPv4-compatible and NAT64 addresses are left unchanged.
export function parseAddress(text: string): Address | undefined {
  const ipv4 = parseIpv4(text.startsWith('::ffff:') ? text.slice(7) : text)
  if (ipv4 !== undefined) return ipv4Address(ipv4)

  const groups = parseIpv6(text)
  return groups === undefined ? undefined : ipv6Address(groups)
}

// Entries are addresses or ranges; a range must not have bits set beyond its prefix, since that is usually a mistake.
export function parseCidrs(texts: readonly string[]): CidrSet {
  const ranges = texts.map(parseRange)
  const ipv4 = disjoint(ranges.filter(range => range.family === 4))
  const ipv6 = disjoint(ranges.filter(range => range.family === 6))
  return Object.freeze({
    isEmpty: texts.length === 0,
    has: (address: Address) => (address.family === 4 ? covers(ipv4, address.value) : covers(ipv6, address.value)),
  })
}

// The key of a per-address policy: an IPv6 caller owns at least a /64, so a single address says nothing.
export function addressBlock(address: Address): string {
  if (address.family === 4) return address.text
  const groups = Array.from({ length: 8 }, (_, i) =>
    i < 4 ? Number((address.value >> BigInt(112 - 16 * i)) & 0xffffn) : 0,
  )
  return `${formatIpv6(groups)}/64`
}

// The socket's peer, unless it is trusted; then X-Forwarded-For from right to left, the first address that is not trusted, or the
// leftmost if all are. An unreadable hop on the way makes the address unknown: refuse.
export function clientAddress(
  peer: string | undefined,
  forwardedFor: readonly string[],
  trusted: CidrSet,
): Address | undefined {
  let address = peer === undefined ? undefined : parseAddress(peer)
  for (let i = forwardedFor.length - 1; i >= 0; i--) {
    const hops = forwardedFor[i]!.split(',')
    for (let j = hops.length - 1; j >= 0; j--) {
      if (address === undefined || !trusted.has(address)) return address
      address = parseAddress(withoutBlanks(hops[j]!))
    }
  }
  return address
}

// Only spaces and tabs, as in HTTP; a loop, since a regular expression takes quadratic time on a long run of them.
function withoutBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (from < to && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09
}

function parseIpv4(text: string): number | undefined {
  if (text.length > 15) return undefined
  let value = 0
  let octet = -1
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit >= 0 && digit <= 9 && octet !== 0) {
      octet = octet < 0 ? digit : octet * 10 + digit
      if (octet > 255) return undefined
    } else if (digit === -2 && octet >= 0 && dots < 3) {
      value = value * 256 + octet
      octet = -1
      dots++
    } else return undefined
  }
  return dots === 3 && octet >= 0 ? value * 256 + octet : undefined
}

// Eight numbers, or undefined. "::" stands for at least one group of zeros.
function parseIpv6(text: string): readonly number[] | undefined {
  if (text.length > 45) return undefined
  const [left, right, ...more] = text.split('::')
  if (left === undefined || more.length > 0) return undefined

  const head = parseGroups(left, right === undefined)
  const tail = right === undefined ? [] : parseGroups(right, true)
  if (head === undefined || tail === undefined) return undefined

  const missing = 8 - head.length - tail.length
  if (right === undefined ? missing !== 0 : missing < 1) return undefined
  return [...head, ...new Array<number>(missing).fill(0), ...tail]
}

function parseGroups(text: string, isLast: boolean): readonly number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const part of parts) {
    const group = parseGroup(part)
    if (group >= 0) {
      groups.push(group)
      continue
    }
    const ipv4 = isLast && groups.length === parts.length - 1 ? parseIpv4(part) : undefined
    if (ipv4 === undefined) return undefined
    groups.push(Math.floor(ipv4 / 0x10000), ipv4 % 0x10000)
  }
  return groups
}

// One to four hexadecimal digits, or -1.
function parseGroup(text: string): number {
  if (text.length === 0 || text.length > 4) return -1
  let group = 0
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    const letter = (unit | 0x20) - 0x57
    if (unit >= 0x30 && unit <= 0x39) group = group * 16 + unit - 0x30
    else if (letter >= 10 && letter <= 15) group = group * 16 + letter
    else return -1
  }
  return group
}

function ipv4Address(value: number): Ipv4 {
  return { family: 4, value, text: `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}` }
}

function ipv6Address(groups: readonly number[]): Address {
  if (groups[5] === 0xffff && groups.slice(0, 5).every(group => group === 0)) {
    return ipv4Address(groups[6]! * 0x10000 + groups[7]!)
  }
  return {
    family: 6,
    value: (join(groups, 0, 3) << 80n) | (join(groups, 3, 6) << 32n) | join(groups, 6, 8),
    text: formatIpv6(groups),
  }
}

// At most three groups: 48 bits fit into a number, and bigints are slow to build.
function join(groups: readonly number[], from: number, to: number): bigint {
  let value = 0
  for (let i = from; i < to; i++) value = value * 0x10000 + groups[i]!
  return BigInt(value)
}

function formatIpv6(groups: readonly number[]): string {
  const text = groups.map(group => group.toString(16)).join(':')
  let at = 0
  let longest = ''
  for (const { 0: run, index } of text.matchAll(/\b0(?::0)+\b/g)) {
    if (run.length > longest.length) [at, longest] = [index, run]
  }
  if (longest === '') return text
  return `${text.slice(0, at).replace(/:$/, '')}::${text.slice(at + longest.length).replace(/^:/, '')}`
}

type Range =
  | { readonly family: 4; readonly first: number; readonly last: number }
  | { readonly family: 6; readonly first: bigint; readonly last: bigint }

function parseRange(entry: string, index: number): Range {
  const slash = entry.indexOf('/')
  const address = parseAddress(slash < 0 ? entry : entry.slice(0, slash))
  if (address === undefined) throw new BadCidr(entry, index, 'the address cannot be read')
  const bits = address.family === 4 ? 32 : 128
  if (slash < 0) return rangeOf(address, bits)

  const written = entry.slice(slash + 1)
  if (!/^(0|[1-9][0-9]{0,2})$/.test(written)) throw new BadCidr(entry, index, 'the prefix must be a plain number')
  // A mapped range has an IPv6 prefix: its first 96 bits are the mapping.
  const isMapped = address.family === 4 && entry.includes(':')
  const prefix = Number(written) - (isMapped ? 96 : 0)
  if (prefix < 0) throw new BadCidr(entry, index, 'an IPv4-mapped range needs a prefix of 96 or more')
  if (prefix > bits) throw new BadCidr(entry, index, `the prefix is longer than ${isMapped ? 128 : bits}`)

  const range = rangeOf(address, prefix)
  if (range.first !== address.value) throw new BadCidr(entry, index, 'bits are set beyond the prefix')
  return range
}

function rangeOf(address: Address, prefix: number): Range {
  if (address.family === 4) {
    const size = 2 ** (32 - prefix)
    const first = address.value - (address.value % size)
    return { family: 4, first, last: first + size - 1 }
  }
  const size = 1n << BigInt(128 - prefix)
  const first = address.value - (address.value % size)
  return { family: 6, first, last: first + size - 1n }
}

type Ranges<T> = { readonly firsts: readonly T[]; readonly lasts: readonly T[] }

// Two CIDR ranges are disjoint or one contains the other; without nested ranges, a binary search finds the only one that can
// contain an address.
function disjoint<T extends number | bigint>(ranges: readonly { readonly first: T; readonly last: T }[]): Ranges<T> {
  const sorted = ranges.toSorted((a, b) =>
    a.first === b.first ? (a.last > b.last ? -1 : 1) : a.first < b.first ? -1 : 1,
  )
  const apart: (typeof sorted)[number][] = []
  for (const range of sorted) {
    const previous = apart.at(-1)
    if (previous === undefined || range.first > previous.last) apart.push(range)
  }
  return { firsts: apart.map(range => range.first), lasts: apart.map(range => range.last) }
}

function covers<T extends number | bigint>(ranges: Ranges<T>, value: T): boolean {
  let low = 0
  let high = ranges.firsts.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ranges.firsts[middle]! <= value) low = middle + 1
    else high = middle
  }
  return low > 0 && value <= ranges.lasts[low - 1]!
}
