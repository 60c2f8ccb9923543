// Probes, metrics and documents as OpenAPI operations.
import type { Media, Operation, PathItem, Paths, Response, Schema } from './document.ts'
import { plainErrors } from './errors.ts'
import { headerRefs } from './headers.ts'

export function operationsPaths(): Paths {
  return {
    '/health': get(
      'getHealth',
      'Whether the process lives',
      'For liveness probes: 200 while the process answers at all.',
      {
        '200': answer('It does.', json(status('ok'))),
      },
    ),
    '/ready': get('getReadiness', 'Whether it may be sent traffic', 'For readiness probes and load balancers.', {
      '200': answer('The store answers, migrations are done and a model is active.', json(status('ready'))),
      '503': answer('Not now; `reason` says why. While draining it stays so.', json(NOT_READY), ['Retry-After']),
    }),
    '/metrics': get(
      'getMetrics',
      'Metrics in the format of Prometheus',
      'With the metrics token, or without one from a loopback peer that sends no forwarding header.',
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
