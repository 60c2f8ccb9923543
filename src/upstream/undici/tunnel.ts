// A tunnel through an HTTP proxy, opened by CONNECT. A proxy that refuses is a failure to connect, so nothing was sent and
// another target may be tried.
import type { LookupAddress } from 'node:dns'
import type { Socket } from 'node:net'
import type { Client } from 'undici'
import { hostOf, publicHost } from '../../lib/egress.ts'
import type { HttpClientOptions } from '../http-client.ts'
import { portOf } from '../open-socket.ts'

export type HttpProxy = {
  // Without credentials, which are never part of an error or a log line.
  readonly url: URL
  readonly authorization: string | undefined
  // Entered through the API: the proxy itself must have a public address.
  readonly publicOnly: boolean
}

export class ProxyRefused extends Error {
  readonly code = 'EPROXY'
}

export async function openTunnel(
  UndiciClient: typeof Client,
  socket: Socket,
  proxy: HttpProxy,
  { url, publicOnly, onBug }: Pick<HttpClientOptions, 'url' | 'publicOnly' | 'onBug'>,
): Promise<void> {
  const host = publicOnly ? await publicAddress(hostOf(url)) : url.hostname
  const authority = `${host}:${portOf(url)}`
  const client = new UndiciClient(proxy.url.origin, {
    connect: (_options, callback) => queueMicrotask(() => callback(null, socket)),
    allowH2: false,
    maxHeaderSize: HEAD_BYTES_MAX,
    // The pool bounds the time until it is connected.
    headersTimeout: 0,
  })
  try {
    const headers = {
      host: authority,
      ...(proxy.authorization === undefined ? {} : { 'proxy-authorization': proxy.authorization }),
    }
    const { statusCode } = await client.connect({ path: authority, headers })
    if (statusCode < 200 || statusCode > 299) throw new ProxyRefused(`the proxy answered ${statusCode} to CONNECT`)
  } finally {
    // The socket no longer belongs to it.
    client.destroy().catch(onBug)
  }
}

const HEAD_BYTES_MAX = 32_768

// The address itself, not the name: the proxy might resolve the name to another address than the one that was checked.
function publicAddress(name: string): Promise<string> {
  const { host, lookup } = publicHost(name)
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, found) => {
      const [first] = (found ?? []) as readonly LookupAddress[]
      if (error !== null || first === undefined) reject(error ?? new Error(`${name} has no address`))
      else resolve(first.family === 6 ? `[${first.address}]` : first.address)
    })
  })
}
