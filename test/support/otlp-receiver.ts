// A real OTLP receiver over HTTP: records what a gateway sends, and reads its JSON form.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

type Value = {
  readonly stringValue?: string
  readonly intValue?: string | number
  readonly doubleValue?: number
  readonly boolValue?: boolean
  readonly arrayValue?: { readonly values?: readonly Value[] }
}
type Attribute = { readonly key: string; readonly value: Value }
export type OtlpSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number | string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly Attribute[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly status?: { readonly code?: number | string; readonly message?: string }
}
type Point = {
  readonly attributes?: readonly Attribute[]
  readonly asDouble?: number
  readonly asInt?: string | number
  readonly count?: string | number
  readonly sum?: number
  readonly bucketCounts?: readonly (string | number)[]
  readonly explicitBounds?: readonly number[]
}
type OtlpMetric = {
  readonly name: string
  readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean }
  readonly gauge?: { readonly dataPoints: readonly Point[] }
  readonly histogram?: { readonly dataPoints: readonly Point[] }
}
type Resource = { readonly attributes: readonly Attribute[] }
export type TraceRequest = {
  readonly resourceSpans?: readonly {
    readonly resource: Resource
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}
type MetricRequest = {
  readonly resourceMetrics?: readonly {
    readonly resource: Resource
    readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[]
  }[]
}

export type OtlpReceived = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly bytes: Buffer }

export type OtlpReceiver = AsyncDisposable & {
  readonly url: string
  readonly received: readonly OtlpReceived[]
  spans(): readonly OtlpSpan[]
  // Of the last export.
  metrics(): readonly OtlpMetric[]
  resources(): readonly Readonly<Record<string, unknown>>[]
}

// `silent`: it accepts requests and never answers.
export async function startOtlpReceiver(kind: 'answering' | 'silent' | 'failing' = 'answering'): Promise<OtlpReceiver> {
  const received: OtlpReceived[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    const body = Buffer.concat(pieces)
    const bytes = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    received.push({ path: request.url ?? '', headers: request.headers, bytes })
    if (kind === 'silent') return
    response.writeHead(kind === 'failing' ? 400 : 200, { 'content-type': request.headers['content-type'] })
    response.end(kind === 'failing' ? 'no' : request.headers['content-type'] === 'application/json' ? '{}' : '')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const sent = <T>(path: string) =>
    received
      .filter(each => each.path === path && each.headers['content-type'] === 'application/json')
      .map(({ bytes }) => JSON.parse(bytes.toString()) as T)
  const traces = () => sent<TraceRequest>('/v1/traces').flatMap(({ resourceSpans = [] }) => resourceSpans)
  const metrics = () => sent<MetricRequest>('/v1/metrics').map(({ resourceMetrics = [] }) => resourceMetrics)

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    spans: () => traces().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    metrics: () => (metrics().at(-1) ?? []).flatMap(each => each.scopeMetrics.flatMap(scope => scope.metrics)),
    resources: () => [...traces(), ...metrics().flat()].map(({ resource }) => attributesOf(resource)),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function attributesOf({ attributes = [] }: { readonly attributes?: readonly Attribute[] }) {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))
}

function plain(value: Value): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(plain)
  if (value.intValue !== undefined) return Number(value.intValue)
  return value.stringValue ?? value.doubleValue ?? value.boolValue
}
