// The metrics that every request changes, as plain counters that are read on a scrape.
import type { Metric, Registry } from '@prometheus-io/client'
import { REFUSALS } from '../domain/refusal.ts'
import type { Endpoint } from '../domain/usage.ts'
import { type Count, type FastMetric, fastCounter, fastHistogram, type Spread } from './fast-metrics.ts'
import type { RequestReport } from './request-log.ts'

export type RequestMetrics = { request(report: RequestReport): void; keyCache(hit: boolean): void }

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export function requestMetrics(registry: Registry): RequestMetrics {
  const hot = <M extends FastMetric>(metric: M): M => {
    registry.registerMetric(metric as unknown as Metric)
    return metric
  }
  const requests = hot(fastCounter('turnpike_requests_total', 'Requests under /v1 by endpoint, status and outcome.'))
  const errors = hot(fastCounter('turnpike_errors_total', 'Requests under /v1 that failed, by error code.'))
  const tokens = hot(fastCounter('turnpike_tokens_total', 'Tokens billed.'))
  const credits = hot(fastCounter('turnpike_credits_total', 'Credits charged (rounded for display).')).count({})
  const duration = hot(
    fastHistogram('turnpike_request_duration_seconds', 'Time from the request to the end of the response.', SECONDS),
  )
  const firstByte = hot(
    fastHistogram(
      'turnpike_first_byte_seconds',
      'Time from the request to the first content of the response.',
      SECONDS,
    ),
  ).spread({})
  const cache = hot(fastCounter('turnpike_key_cache_total', 'Key look-ups.'))
  const hits = cache.count({ result: 'hit' })
  const misses = cache.count({ result: 'miss' })
  const billed = {
    prompt: tokens.count({ kind: 'prompt' }),
    completion: tokens.count({ kind: 'completion' }),
    cached: tokens.count({ kind: 'cached' }),
    reasoning: tokens.count({ kind: 'reasoning' }),
  }
  const seen = new Map<string, Count>()
  // Most requests are like the one before.
  let last: { endpoint: Endpoint; status: number; outcome: string; count: Count } | undefined
  const durations = new Map<Endpoint, Spread>()
  // From the start: a counter that appears with its first error shows no increase.
  const failed = new Map<string, Count>(Object.keys(REFUSALS).map(code => [code, errors.count({ code })]))

  function seenCount({ endpoint, status, outcome }: RequestReport): Count {
    if (last?.endpoint === endpoint && last.status === status && last.outcome === outcome) return last.count
    const key = `${endpoint} ${status} ${outcome}`
    let count = seen.get(key)
    if (count === undefined) {
      count = requests.count({ endpoint, status: String(status), outcome })
      seen.set(key, count)
    }
    last = { endpoint, status, outcome, count }
    return count
  }

  function durationSpread(endpoint: Endpoint): Spread {
    let spread = durations.get(endpoint)
    if (spread === undefined) {
      spread = duration.spread({ endpoint })
      durations.set(endpoint, spread)
    }
    return spread
  }

  return {
    request(report) {
      seenCount(report).total += 1
      const error = report.errorCode === undefined ? undefined : failed.get(report.errorCode)
      if (error !== undefined) error.total += 1
      durationSpread(report.endpoint).observe(report.ms / 1000)
      if (report.firstByteMs !== undefined) firstByte.observe(report.firstByteMs / 1000)
      if (report.tokens !== undefined) {
        billed.prompt.total += report.tokens.prompt
        billed.completion.total += report.tokens.completion
        billed.cached.total += report.tokens.cached
        billed.reasoning.total += report.tokens.reasoning
      }
      // For display; the ledger has the exact sum.
      if (report.cost !== undefined) credits.total += Number(report.cost) / 1e9
    },
    keyCache(hit) {
      if (hit) hits.total += 1
      else misses.total += 1
    },
  }
}
