// Pictures by address: who may be asked to fetch one for a caller. A provider fetches from the network that it stands in, so
// that only those which stand on the public internet are asked, and only for what lies there.
// See docs/decisions/remote-media-and-addresses.md.
import { isPublicHost } from '../lib/public-url.ts'
import type { Provider, ProviderKind } from './catalog.ts'

// Kinds whose wire has a word for an address.
const FETCHING_KINDS: ReadonlySet<ProviderKind> = new Set(['openai', 'anthropic', 'cohere'])

// What a provider does unless its operator says otherwise: vendors fetch. `isVendor` is what its preset, or its address,
// says.
export function usuallyFetches(kind: ProviderKind, baseUrl: string, isVendor: boolean): boolean {
  const url = URL.parse(baseUrl)
  return isVendor && FETCHING_KINDS.has(kind) && url !== null && isPublicHost(url.hostname.replace(/^\[|\]$/g, ''))
}

// One that was stored before this was known fetches nothing.
export function fetchesMedia(provider: Provider): boolean {
  return provider.remoteMedia === true
}
