// Whose address a request comes from, for those who ask outside of the door.
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import type { Authenticator } from '../admit/authenticate.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Standing } from '../lib/bucket.ts'
import { type CidrSet, clientAddress, parseAddress } from '../lib/cidr.ts'

export function addressOfRequest(trusted: CidrSet): (request: FastifyRequest) => string {
  return request => {
    const forwarded = request.raw.headersDistinct['x-forwarded-for'] ?? []
    const address = clientAddress(request.socket.remoteAddress, forwarded, trusted)
    if (address === undefined) throw new Refusal('malformed_request', { message: 'X-Forwarded-For cannot be read.' })
    return address.text
  }
}

// Of a request that could not be parsed only the socket's peer is known.
export function addressStandingOf(authenticate: Pick<Authenticator, 'addressStanding'>): (socket: Socket) => Standing {
  return socket => authenticate.addressStanding(parseAddress(socket.remoteAddress ?? ''))
}
