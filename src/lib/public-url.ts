// Addresses that somebody else is to fetch for a caller: whether one names a host on the public internet, however it is
// written. What a name resolves to is known only to the one that fetches it.
import { hostOf, isPublicAddress } from './egress.ts'

const URL_CHARS_MAX = 8192

// Names that are private by convention or by standard, and those of clusters.
const PRIVATE_SUFFIXES = [
  ...['local', 'localhost', 'localdomain', 'internal', 'svc', 'cluster.local', 'intranet', 'lan', 'home', 'corp'],
  ...['private', 'home.arpa', 'in-addr.arpa', 'ip6.arpa', 'test', 'invalid', 'onion', 'alt'],
].map(name => `.${name}`)

// The address as it is to be passed on, or undefined. Where the host can be read in more than one way (blanks, backslashes,
// percent signs, other scripts), it is passed on as it was read here.
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
  // Whatever else looks like an address is one that is not public, or that others may read as one.
  if (name.includes(':') || NUMBERS_ALONE.test(name)) return false
  const bare = name.endsWith('.') ? name.slice(0, -1) : name
  if (!NAME.test(bare)) return false
  const dotted = `.${bare}`
  return PRIVATE_SUFFIXES.every(suffix => !dotted.endsWith(suffix))
}

const ENDS_HOST = /^(?:$|[/?#])/
const NUMBERS_ALONE = /^[\d.x]+$/
// Two labels at least, the last of which is no number.
const NAME = /^(?=.{1,253}$)(?:[a-z0-9_-]{1,63}\.)+(?=[a-z0-9-]*[a-z])[a-z0-9-]{1,63}$/

// An empty one is not in the parsed address any more.
function hasUserinfo(text: string): boolean {
  const rest = text.slice(text.indexOf(':') + 1)
  const end = rest.slice(2).search(/[/\\?#]/)
  return rest.slice(0, end < 0 ? rest.length : end + 2).includes('@')
}
