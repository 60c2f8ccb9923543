// The client address of a request, for use outside the router.
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../admit/authenticate.ts'
import { Refusal } from '../domain/refusal.ts'
import { type CidrSet, clientAddress, parseAddress } from '../lib/ip-address.ts'
import type { Standing } from '../lib/token-bucket.ts'

export function addressOfRequest(trusted: CidrSet): (request: FastifyRequest) => string {
  return request => {
    const forwarded = request.raw.headersDistinct['x-forwarded-for'] ?? []
    const address = clientAddress(request.socket.remoteAddress, forwarded, trusted)
    if (address === undefined) throw new Refusal('malformed_request', { message: 'X-Forwarded-For is invalid.' })
    return address.text
  }
}

// Over TLS, which ends at a proxy in front of us; only a trusted one is believed.
export function tlsOfRequest(trusted: CidrSet): (request: FastifyRequest) => boolean {
  return request => {
    const peer = parseAddress(request.socket.remoteAddress ?? '')
    const said = request.raw.headersDistinct['x-forwarded-proto']?.[0]
    return peer !== undefined && trusted.has(peer) && /^https\s*(?:,|$)/i.test(said ?? '')
  }
}

// Of a request that could not be parsed only the socket's peer is known.
export function addressStandingOf(authenticate: Pick<Authenticator, 'addressStanding'>): (socket: Socket) => Standing {
  return socket => authenticate.addressStanding(parseAddress(socket.remoteAddress ?? ''))
}
