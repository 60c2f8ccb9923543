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
