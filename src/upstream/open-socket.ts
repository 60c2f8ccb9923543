// Opens a socket to an upstream or to a proxy: TCP or TLS, to public addresses only where that is demanded. The only file that
// connects outward.
import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { hostOf, publicHost } from '../lib/egress.ts'

export type SocketOptions = {
  readonly url: URL
  readonly publicOnly?: boolean | undefined
  // Of an earlier TLS connection to the same host, to resume it.
  readonly session?: Buffer | undefined
  // Where bytes are read to; undefined: the socket is read as a stream.
  readonly onread?: OnReadOpts | undefined
}

export function openSocket({ url, publicOnly, session, onread }: SocketOptions): Socket {
  const host = hostOf(url)
  const options = {
    host,
    port: portOf(url),
    noDelay: true,
    keepAlive: true,
    ...(onread === undefined ? {} : { onread }),
    ...(publicOnly ? publicHost(host) : {}),
  }
  if (url.protocol !== 'https:') return connectTcp(options)
  return connectTls({ ...options, ...tlsOptions(host, session) })
}

// TLS with a host inside of a connection that stands already, such as a proxy's tunnel.
export function secureSocket(socket: Socket, url: URL, session: Buffer | undefined): TLSSocket {
  return connectTls({ socket, ...tlsOptions(hostOf(url), session) })
}

// The event by which a socket says that it is connected.
export function connectEvent(url: URL): 'connect' | 'secureConnect' {
  return url.protocol === 'https:' ? 'secureConnect' : 'connect'
}

export function portOf(url: URL): number {
  return Number(url.port || (url.protocol === 'https:' ? 443 : 80))
}

function tlsOptions(host: string, session: Buffer | undefined) {
  return {
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    ...(session === undefined ? {} : { session }),
  }
}
