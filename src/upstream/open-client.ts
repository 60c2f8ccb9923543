// Chooses the HTTP client of a provider: our own on the fast path, undici where that is off or a proxy is in between.
import type { Provider } from '../domain/catalog.ts'
import type { HttpClient, HttpClientOptions } from './http-client.ts'
import { http1Client } from './http1/client.ts'
import { type EnvironmentProxies, proxyFor } from './proxies.ts'
import { undiciClient } from './undici/client.ts'

export type Network = {
  // Whether our own client may be used.
  readonly fastPath: boolean
  readonly proxies: EnvironmentProxies
}

export function openClient(
  provider: Pick<Provider, 'proxy' | 'proxyCredentials' | 'publicOnly' | 'timeouts'>,
  options: Omit<HttpClientOptions, 'publicOnly' | 'timeouts'>,
  { fastPath, proxies }: Network,
): HttpClient {
  const { publicOnly, timeouts } = provider
  const proxy = proxyFor(options.url, provider, proxies)
  const all = { ...options, publicOnly, timeouts }
  return fastPath && proxy === undefined ? http1Client(all) : undiciClient(all, proxy)
}
