// Endpoints for operators and probes outside /v1: health, readiness and metrics.
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { errorBody, Refusal } from '../domain/refusal.ts'
import { parseAddress } from '../lib/ip-address.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { bearsToken, tokenHash } from './bearer-token.ts'

export type OperationsNeeds = {
  readonly ready: () => Promise<string | undefined>
  readonly metrics: Metrics
  readonly metricsToken: string | undefined
}

export function operations(app: FastifyInstance, needs: OperationsNeeds): void {
  app.get('/health', async () => ({ status: 'ok' }))
  app.get('/ready', async (_request, reply) => {
    const why = await needs.ready()
    if (why === undefined) return { status: 'ready' }
    return reply.code(503).header('retry-after', '1').send({ status: 'not_ready', reason: why })
  })
  app.get('/metrics', async (request, reply) => {
    if (!mayScrape(request, needs.metricsToken)) {
      const refusal = new Refusal('invalid_api_key', { message: 'Send the metrics token as "Authorization: Bearer".' })
      return reply.code(401).header('www-authenticate', 'Bearer').send(errorBody(refusal, request.id))
    }
    return reply.type(needs.metrics.contentType).send(await needs.metrics.text())
  })
}

// With the token, or from a loopback peer without a proxy.
function mayScrape(request: FastifyRequest, token: string | undefined): boolean {
  if (token !== undefined && bearsToken(request.headers.authorization, tokenHash(token))) return true
  const forwarded = Object.keys(request.headers).some(name => FORWARDING.test(name))
  return !forwarded && isLoopback(request.socket.remoteAddress)
}

const FORWARDING = /^(?:x-forwarded-.*|forwarded|via|x-real-ip|(?:x-|true-)client-ip|cf-connecting-ip)$/

function isLoopback(peer: string | undefined): boolean {
  const address = peer === undefined ? undefined : parseAddress(peer)
  return address !== undefined && (address.text === '::1' || (address.family === 4 && address.text.startsWith('127.')))
}
