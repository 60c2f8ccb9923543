// Parses addresses and ranges, and determines the address that a request comes from. Anything not in the plain notation is
// refused, and an invalid list is an error: it must never be treated as empty.
// Why these libraries, and what they cost: docs/decisions/libraries-and-packaging.md
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'

// `text` is the canonical form (RFC 5952), fit to be a key: one address, one text.
export type Address = { readonly family: 4 | 6; readonly text: string }

export type CidrSet = {
  readonly isEmpty: boolean
  has(address: Address): boolean
}

export class BadCidr extends Error {
  override readonly name = 'BadCidr'
  readonly entry: string
  readonly index: number
  constructor(entry: string, index: number, why: string) {
    super(`entry ${index} (${JSON.stringify(entry.slice(0, 64))}) is not an IP address or CIDR range: ${why}`)
    this.entry = entry
    this.index = index
  }
}

const ADDRESS_LENGTH_MAX = 45
const MAPPED = '::ffff:'

// IPv4 as four plain decimal numbers, IPv6 without a zone. An IPv4-mapped IPv6 address, in any notation, is the IPv4 address (a
// dual-stack socket reports every IPv4 peer so); IPv4-compatible and NAT64 addresses stay IPv6.
export function parseAddress(text: string): Address | undefined {
  if (text.length > ADDRESS_LENGTH_MAX || text.includes('%')) return undefined
  const plain = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text
  // What the platform accepts as IPv4 is in its canonical form.
  if (isIPv4(plain)) return { family: 4, text: plain }
  if (!isIPv6(text)) return undefined
  const parsed = ipaddr.IPv6.parse(inGroups(text))
  if (parsed.isIPv4MappedAddress()) return { family: 4, text: parsed.toIPv4Address().toString() }
  return { family: 6, text: parsed.toRFC5952String() }
}

// Entries are addresses or ranges. A range must not have bits set beyond its prefix, since that is usually a mistake.
export function parseCidrs(texts: readonly string[]): CidrSet {
  // One list per family: an IPv6 range never holds an IPv4 address.
  const lists = { 4: new BlockList(), 6: new BlockList() }
  texts.forEach((entry, index) => {
    const { address, prefix } = parseRange(entry, index)
    lists[address.family].addSubnet(address.text, prefix, nameOf(address))
  })
  return Object.freeze({
    isEmpty: texts.length === 0,
    has: (address: Address) => lists[address.family].check(address.text, nameOf(address)),
  })
}

// The key of a per-address policy: an IPv6 caller owns at least a /64, so a single address says nothing.
export function addressBlock(address: Address): string {
  return address.family === 4 ? address.text : `${network(address, 64)}/64`
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
      address = parseAddress(copied(withoutBlanks(hops[j]!)))
    }
  }
  return address
}

// An address such as 64:ff9b::10.1.2.3 without its dotted part: ipaddr.js takes the deprecated ::10.1.2.3 for a mapped address, and it is not.
function inGroups(text: string): string {
  const at = text.lastIndexOf(':') + 1
  if (!text.includes('.')) return text
  const [a = 0, b = 0, c = 0, d = 0] = ipaddr.IPv4.parse(text.slice(at)).octets
  return `${text.slice(0, at)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

// Only spaces and tabs, as in HTTP; a loop, since a regular expression takes quadratic time on a long run of them.
function withoutBlanks(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (from < to && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

// A part of a string keeps all of it in memory: an address that is remembered must not keep its header.
function copied(text: string): string {
  return text.length > ADDRESS_LENGTH_MAX ? text : Buffer.from(text).toString()
}

function isBlank(unit: number): boolean {
  return unit === 0x20 || unit === 0x09
}

type Range = { readonly address: Address; readonly prefix: number }

function parseRange(entry: string, index: number): Range {
  const slash = entry.indexOf('/')
  const address = parseAddress(slash < 0 ? entry : entry.slice(0, slash))
  if (address === undefined) throw new BadCidr(entry, index, 'invalid address')
  const bits = address.family === 4 ? 32 : 128
  if (slash < 0) return { address, prefix: bits }

  const written = entry.slice(slash + 1)
  if (!/^(0|[1-9][0-9]{0,2})$/.test(written)) throw new BadCidr(entry, index, 'the prefix must be a number')
  // A mapped range is written with a prefix of IPv6: its first 96 bits are the mapping.
  const isMapped = address.family === 4 && entry.includes(':')
  const prefix = Number(written) - (isMapped ? 96 : 0)
  if (prefix < 0) throw new BadCidr(entry, index, 'an IPv4-mapped range must have a prefix of at least 96')
  if (prefix > bits) throw new BadCidr(entry, index, `the prefix is longer than ${isMapped ? 128 : bits}`)
  if (network(address, prefix) !== address.text) throw new BadCidr(entry, index, 'bits are set beyond the prefix')
  return { address, prefix }
}

function network({ family, text }: Address, prefix: number): string {
  return family === 4
    ? ipaddr.IPv4.networkAddressFromCIDR(`${text}/${prefix}`).toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${text}/${prefix}`).toRFC5952String()
}

function nameOf({ family }: Address): 'ipv4' | 'ipv6' {
  return family === 4 ? 'ipv4' : 'ipv6'
}
