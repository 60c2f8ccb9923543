// Probes, metrics and documents as OpenAPI operations.
import type { Media, Operation, PathItem, Paths, Response, Schema } from './document.ts'
import { plainErrors } from './errors.ts'
import { headerRefs } from './headers.ts'

export function operationsPaths(): Paths {
  return {
    '/health': get('getHealth', 'Liveness check', 'Returns 200 while the process is running.', {
      '200': answer('It does.', json(status('ok'))),
    }),
    '/ready': get('getReadiness', 'Readiness check', 'For readiness probes and load balancers.', {
      '200': answer('The database is available, migrations are done and a model is active.', json(status('ready'))),
      '503': answer('Not ready; `reason` gives the cause. Also returned while draining.', json(NOT_READY), [
        'Retry-After',
      ]),
    }),
    '/metrics': get(
      'getMetrics',
      'Metrics in Prometheus format',
      'Requires the metrics token, except from a loopback address without a forwarding header.',
      {
        '200': answer('The metrics.', { 'text/plain': { schema: { type: 'string' } } }),
        ...plainErrors(['invalid_api_key'], ['X-Request-Id']),
      },
      // The empty one: a loopback peer without a forwarding header needs no token.
      [{ metricsToken: [] }, {}],
    ),
    '/openapi.json': get(
      'getOpenApi',
      'This document',
      '`/v1` for everyone; with an operator’s token or session the admin API and these operations too.',
      {
        '200': answer('OpenAPI 3.1.', json({ type: 'object' })),
      },
    ),
    '/docs': get('getDocs', 'This document as a page', 'A reference with search; it loads nothing from other hosts.', {
      '200': answer('The page.', { 'text/html': { schema: { type: 'string' } } }),
    }),
  }
}

const NOT_READY: Schema = {
  type: 'object',
  required: ['status', 'reason'],
  properties: { status: { const: 'not_ready' }, reason: { type: 'string' } },
}

function get(
  operationId: string,
  summary: string,
  description: string,
  responses: Operation['responses'],
  security: Operation['security'] = [],
): PathItem {
  return { get: { operationId, tags: ['Operations'], summary, description, security, responses } }
}

function answer(description: string, content: Readonly<Record<string, Media>>, more: readonly string[] = []): Response {
  return { description, headers: headerRefs(['X-Request-Id', ...more]), content }
}

function json(schema: Schema): Readonly<Record<string, Media>> {
  return { 'application/json': { schema } }
}

function status(word: string): Schema {
  return { type: 'object', required: ['status'], properties: { status: { const: word } } }
}
