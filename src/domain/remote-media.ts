// Which providers may fetch an image URL for a caller. A provider fetches from its own network, so only providers on the public
// internet are used, and only for public hosts. See docs/decisions/remote-media-and-addresses.md.
import { isPublicHost } from '../lib/egress.ts'
import type { Provider, ProviderKind } from './catalog.ts'

// Kinds whose protocol supports image URLs.
const FETCHING_KINDS: ReadonlySet<ProviderKind> = new Set(['openai', 'anthropic', 'cohere'])

// The default unless the operator sets it: vendors fetch. `isVendor` comes from the preset or the address.
export function usuallyFetches(kind: ProviderKind, baseUrl: string, isVendor: boolean): boolean {
  const url = URL.parse(baseUrl)
  return isVendor && FETCHING_KINDS.has(kind) && url !== null && isPublicHost(url.hostname.replace(/^\[|\]$/g, ''))
}

// A provider stored before this setting existed fetches nothing.
export function fetchesMedia(provider: Provider): boolean {
  return provider.remoteMedia === true
}
