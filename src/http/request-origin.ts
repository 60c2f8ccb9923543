// The origin under which a client reached the gateway, for the addresses that it is shown.
import type { FastifyRequest } from 'fastify'

const HOST = /^(?:[a-z0-9.-]{1,253}|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i

// Undefined: the request names no usable host.
export function originOfRequest(
  request: FastifyRequest,
  cameByTls: (request: FastifyRequest) => boolean,
): string | undefined {
  const { host = '' } = request.headers
  return HOST.test(host) ? `${cameByTls(request) ? 'https' : 'http'}://${host}` : undefined
}
