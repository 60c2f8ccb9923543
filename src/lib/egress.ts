// Which addresses are on the public internet. A provider address entered through the API may connect to nothing else: not to this
// machine, its network or the cloud's metadata service, in any notation. See docs/decisions/remote-media-and-addresses.md.
import { lookup as lookupName } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { parseAddress, parseCidrs } from './ip-address.ts'

// IPv4: everything that IANA does not call globally reachable, multicast, and the address by which Azure's machines reach their
// host.
const NOT_PUBLIC_IPV4 = parseCidrs([
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16',
])
// IPv6: only global unicast is public, so mapped, compatible, NAT64, unique local, link-local, site-local and multicast addresses
// need no list; ranges that embed another address or are reserved are excluded.
const GLOBAL_IPV6 = parseCidrs(['2000::/3'])
const NOT_PUBLIC_IPV6 = parseCidrs(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

export function isPublicAddress(text: string): boolean {
  const address = parseAddress(text)
  if (address === undefined) return false
  if (address.family === 4) return !NOT_PUBLIC_IPV4.has(address)
  return GLOBAL_IPV6.has(address) && !NOT_PUBLIC_IPV6.has(address)
}

export class NotPublic extends Error {
  readonly code = 'ENOTPUBLIC'
  constructor(host: string) {
    super(`${host} is not a public address`)
  }
}

// A URL's host, without the brackets of IPv6.
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

// Resolves if every address of the host is public, otherwise rejects with the reason.
export async function requirePublic(host: string): Promise<void> {
  const addresses = parseAddress(host) === undefined ? await addressesOf(host) : [host]
  if (!addresses.every(isPublicAddress)) throw new NotPublic(host)
}

function addressesOf(host: string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    lookupName(host, { all: true }, (error, found) => {
      if (error === null) resolve(found.map(({ address }) => address))
      else reject(error)
    })
  })
}

// For a socket: returns public addresses only, at the moment of connecting, so a name that has changed since it was checked leads
// nowhere.
export const publicLookup: LookupFunction = (host, options, callback) => {
  lookupName(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, '')
    const open = found.filter(({ address }) => isPublicAddress(address))
    const [first] = open
    if (first === undefined) return callback(new NotPublic(host), '')
    return options.all ? callback(null, open) : callback(null, first.address, first.family)
  })
}

// The host and lookup for connections that may only be public. A literal address is not looked up, so one that is not public is
// replaced by a name whose lookup fails.
export function publicHost(host: string): { readonly host: string; readonly lookup: LookupFunction } {
  // A name has no colon; an address that cannot be parsed is not public.
  const isAddress = parseAddress(host) !== undefined || host.includes(':')
  if (!isAddress || isPublicAddress(host)) return { host, lookup: publicLookup }
  return { host: 'not-public', lookup: (_name, _options, callback) => callback(new NotPublic(host), '') }
}

// URLs that a provider is to fetch for a caller: whether one names a host on the public internet, in any notation. Only the
// fetching side knows what a name resolves to.
const URL_CHARS_MAX = 8192

// Names that are private by convention or standard, and names of clusters.
const PRIVATE_SUFFIXES = [
  ...['local', 'localhost', 'localdomain', 'internal', 'svc', 'cluster.local', 'intranet', 'lan', 'home', 'corp'],
  ...['private', 'home.arpa', 'in-addr.arpa', 'ip6.arpa', 'test', 'invalid', 'onion', 'alt'],
].map(name => `.${name}`)

// The URL to forward, or undefined. Where the host can be read in more than one way (blanks, backslashes, percent signs, other
// scripts), it is forwarded as it was parsed here.
export function publicUrl(text: string): string | undefined {
  if (text.length > URL_CHARS_MAX) return undefined
  const url = URL.parse(text)
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined
  if (hasUserinfo(text) || !isPublicHost(hostOf(url))) return undefined
  const plain = `https://${url.host}`
  const isPlain = text.slice(0, plain.length).toLowerCase() === plain && ENDS_HOST.test(text.slice(plain.length))
  return isPlain ? text : url.href
}

export function isPublicHost(host: string): boolean {
  const name = host.toLowerCase()
  if (isPublicAddress(name)) return true
  // Anything else that looks like an address is not public, or may be read as one by others.
  if (name.includes(':') || NUMBERS_ALONE.test(name)) return false
  const bare = name.endsWith('.') ? name.slice(0, -1) : name
  if (!NAME.test(bare)) return false
  const dotted = `.${bare}`
  return PRIVATE_SUFFIXES.every(suffix => !dotted.endsWith(suffix))
}

const ENDS_HOST = /^(?:$|[/?#])/
const NUMBERS_ALONE = /^[\d.x]+$/
// At least two labels, the last of which is not a number.
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)+(?=[a-z0-9-]*[a-z])[a-z0-9-]{1,63}$/

// An empty userinfo is no longer visible in the parsed URL.
function hasUserinfo(text: string): boolean {
  const rest = text.slice(text.indexOf(':') + 1)
  const end = rest.slice(2).search(/[/\\?#]/)
  return rest.slice(0, end < 0 ? rest.length : end + 2).includes('@')
}
