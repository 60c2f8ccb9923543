// Chooses the HTTP client of a provider: our own on the fast path, undici where that is off or a proxy is in between.
import type { Provider } from '../domain/catalog.ts'
import { hostOf } from '../lib/egress.ts'
import { parseAddress, parseCidrs } from '../lib/ip-address.ts'
import type { HttpClient, HttpClientOptions } from './http-client.ts'
import { http1Client } from './http1/client.ts'
import { portOf } from './open-socket.ts'
import { undiciClient } from './undici/client.ts'
import type { HttpProxy } from './undici/tunnel.ts'

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

// Which proxy a provider is called through: its own, or the environment's unless NO_PROXY names the host.

// HTTP_PROXY, HTTPS_PROXY and NO_PROXY. The addresses may hold a user and a password.
type EnvironmentProxies = {
  readonly http: string | undefined
  readonly https: string | undefined
  readonly exempt: readonly string[]
}

export function proxyFor(
  url: URL,
  provider: Pick<Provider, 'proxy' | 'proxyCredentials' | 'publicOnly'>,
  environment: EnvironmentProxies,
): HttpProxy | undefined {
  if (provider.proxy !== undefined) {
    const credentials = provider.proxyCredentials
    return { ...proxyOf(provider.proxy), ...authorizationOf(credentials), publicOnly: provider.publicOnly === true }
  }
  const address = url.protocol === 'https:' ? environment.https : environment.http
  if (address === undefined || isExempt(url, environment.exempt)) return undefined
  return { ...proxyOf(address), publicOnly: false }
}

function proxyOf(address: string): Omit<HttpProxy, 'publicOnly'> {
  const url = new URL(address)
  const { username, password } = url
  url.username = url.password = ''
  const hasCredentials = username !== '' || password !== ''
  return { url, ...authorizationOf(hasCredentials ? `${username}:${password}` : undefined) }
}

// Percent-encoded, as in a URL.
function authorizationOf(credentials: string | undefined): Pick<HttpProxy, 'authorization'> {
  if (credentials === undefined) return { authorization: undefined }
  return { authorization: `Basic ${Buffer.from(decodeURIComponent(credentials)).toString('base64')}` }
}

// This machine is never called through a proxy of the environment, whose `localhost` is another machine.
function isExempt(url: URL, entries: readonly string[]): boolean {
  const host = hostOf(url).toLowerCase()
  return isLoopback(host) || entries.some(entry => covers(entry.toLowerCase(), host, portOf(url)))
}

const LOOPBACK = parseCidrs(['127.0.0.0/8', '::1'])

function isLoopback(host: string): boolean {
  const address = parseAddress(host)
  return address === undefined ? host === 'localhost' || host.endsWith('.localhost') : LOOPBACK.has(address)
}

// `*`, an address, a range of addresses, or a domain with all of its subdomains (`example.com`, `.example.com`,
// `*.example.com`), each with or without a port.
function covers(entry: string, host: string, port: number): boolean {
  if (entry === '*') return true
  const address = parseAddress(host)
  const [, name = entry, ofPort] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(entry) ?? []
  if (ofPort !== undefined && Number(ofPort) !== port) return false
  const plain = name.replace(/^\[|\]$/g, '')
  if (address !== undefined) return rangeOf(plain)?.has(address) ?? false
  const domain = plain.replace(/^\*?\./, '')
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`))
}

function rangeOf(entry: string): ReturnType<typeof parseCidrs> | undefined {
  try {
    return parseCidrs([entry])
  } catch {
    return undefined
  }
}
