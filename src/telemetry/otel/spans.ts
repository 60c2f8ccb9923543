// The spans of a request: one for the request, and one below it for each attempt at a provider.
import {
  type HrTime,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  RandomIdGenerator,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import type { RequestTrace } from '../../domain/trace.ts'
import type { Attempt } from '../../domain/usage.ts'
import type { Clock } from '../../lib/clock.ts'
import { readTraceparent, writeTraceparent } from '../../lib/traceparent.ts'
import type { RequestReport } from '../request-log.ts'
import { attemptAttributes, attemptName, type KindOf, requestAttributes, requestName } from './attributes.ts'

export type Tracing = {
  readonly sampling: {
    readonly kind: 'always_on' | 'always_off' | 'traceidratio'
    readonly ratio: number
    readonly isParentBased: boolean
  }
  // Whether a caller's span becomes the parent; otherwise the request has its own trace, with a link to the caller's.
  readonly trustTraceparent: boolean
  // Whether providers get the trace.
  readonly propagateTraceparent: boolean
}

export type SpanNeeds = {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly kindOf: KindOf
  readonly resource: Resource
  readonly scope: { readonly name: string; readonly version: string }
  readonly processor: SpanProcessor
}

export type RequestTracer = {
  open(traceparent: unknown): RequestTrace
  report(report: RequestReport): void
  close(): Promise<void>
}

type Opened = RequestTrace & {
  readonly parent: SpanContext | undefined
  readonly link: SpanContext | undefined
  readonly traceId: string
  readonly spanId: string
  readonly attempts: readonly BegunAttempt[]
  relayedMs: number | undefined
}
type BegunAttempt = { readonly spanId: string; readonly startedMs: number }

// Spans are made when they are over and given to the SDK's processor: its tracer would copy the attributes of each twice, and choose
// ids that providers had to know before.
export function requestTracer(tracing: Tracing, needs: SpanNeeds): RequestTracer {
  const { clock, kindOf, processor } = needs
  const random = new RandomIdGenerator()
  const sampler = samplerOf(tracing.sampling)

  function open(traceparent: unknown): Opened {
    const caller = remoteSpan(traceparent)
    const parent = tracing.trustTraceparent ? caller : undefined
    const link = tracing.trustTraceparent ? undefined : caller
    const traceId = parent?.traceId ?? random.generateTraceId()
    const attempts: BegunAttempt[] = []
    const opened: Opened = {
      parent,
      link,
      traceId,
      spanId: random.generateSpanId(),
      attempts,
      relayedMs: undefined,
      beginAttempt() {
        const spanId = random.generateSpanId()
        attempts.push({ spanId, startedMs: clock.monotonic() })
        if (!tracing.propagateTraceparent) return undefined
        return writeTraceparent({ traceId, spanId, isSampled: isSampled(parent, traceId) })
      },
      relayed() {
        opened.relayedMs = clock.monotonic()
      },
    }
    return opened
  }

  // The samplers decide by the ids alone, so that every call of this gives the same for a request.
  function isSampled(parent: SpanContext | undefined, traceId: string): boolean {
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
    const { decision } = sampler.shouldSample(context, traceId, '', SpanKind.SERVER, {}, [])
    return decision === SamplingDecision.RECORD_AND_SAMPLED
  }

  function end(span: Ended): void {
    const { traceId, spanId, from, to, ...rest } = span
    const context: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED }
    processor.onEnd({
      ...rest,
      spanContext: () => context,
      startTime: hrTime(from),
      endTime: hrTime(to),
      duration: hrTime(to - from),
      ended: true,
      events: [],
      resource: needs.resource,
      instrumentationScope: needs.scope,
      droppedAttributesCount: 0,
      droppedEventsCount: 0,
      droppedLinksCount: 0,
    })
  }

  function report(report: RequestReport): void {
    const opened = report.call.trace as Opened | undefined
    if (opened === undefined || !isSampled(opened.parent, opened.traceId)) return
    const { traceId, spanId, parent, link } = opened
    const { receivedAt } = report.call
    for (const [index, attempt] of (report.attempts ?? []).entries()) {
      const begun = opened.attempts[index]
      if (begun !== undefined) endAttempt(report, attempt, begun, opened)
    }
    end({
      traceId,
      spanId,
      parentSpanContext: parent,
      name: requestName(report),
      kind: SpanKind.SERVER,
      from: receivedAt,
      to: receivedAt + report.ms,
      attributes: requestAttributes(report, kindOf),
      links: link === undefined ? [] : [{ context: link }],
      status: isError(report) ? FAILED : UNSET,
    })
  }

  function endAttempt(report: RequestReport, attempt: Attempt, begun: BegunAttempt, opened: Opened): void {
    const { receivedAt, startedMs } = report.call
    const { traceId, spanId, relayedMs } = opened
    const from = receivedAt + Math.max(0, begun.startedMs - startedMs)
    const endedAt = relayedMs === undefined ? receivedAt + report.ms : receivedAt + relayedMs - startedMs
    const error = errorOf(attempt, report)
    end({
      traceId,
      spanId: begun.spanId,
      parentSpanContext: { traceId, spanId, traceFlags: TraceFlags.SAMPLED },
      name: attemptName(report, attempt),
      kind: SpanKind.CLIENT,
      from,
      to: Math.max(from, attempt.outcome === 'answered' ? endedAt : from + attempt.ms),
      attributes: attemptAttributes(report, attempt, error, kindOf),
      links: [],
      status: error === undefined ? UNSET : FAILED,
    })
  }

  return { open, report, close: () => processor.shutdown() }
}

type Ended = Pick<ReadableSpan, 'name' | 'kind' | 'attributes' | 'links' | 'status'> & {
  readonly parentSpanContext: SpanContext | undefined
  readonly traceId: string
  readonly spanId: string
  // Milliseconds since 1970.
  readonly from: number
  readonly to: number
}

const UNSET = { code: SpanStatusCode.UNSET }
const FAILED = { code: SpanStatusCode.ERROR }

function hrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

// A refusal is no error of the server; a stream may fail after its 200.
function isError({ status, outcome }: RequestReport): boolean {
  return status >= 500 || (status < 400 && (outcome === 'upstream_failed' || outcome === 'upstream_broke'))
}

function errorOf({ outcome }: Attempt, report: RequestReport): string | undefined {
  if (outcome === 'client_left') return undefined
  if (outcome !== 'answered') return outcome
  return report.outcome === 'upstream_broke' ? (report.errorCode ?? 'interrupted') : undefined
}

function remoteSpan(traceparent: unknown): SpanContext | undefined {
  const read = readTraceparent(traceparent)
  if (read === undefined) return undefined
  const { traceId, spanId, isSampled } = read
  return { traceId, spanId, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE, isRemote: true }
}

function samplerOf({ kind, ratio, isParentBased }: Tracing['sampling']): Sampler {
  const root =
    kind === 'traceidratio'
      ? new TraceIdRatioBasedSampler(ratio)
      : kind === 'always_on'
        ? new AlwaysOnSampler()
        : new AlwaysOffSampler()
  return isParentBased ? new ParentBasedSampler({ root }) : root
}
