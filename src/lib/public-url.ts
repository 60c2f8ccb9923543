// URLs that a provider is to fetch for a caller: whether one names a host on the public internet, in any notation. Only the
// fetching side knows what a name resolves to.
import { hostOf, isPublicAddress } from './egress.ts'

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
