// Labels for the outcomes of requests and of upstream attempts.
import type { ErrorCause } from '../../../../src/domain/error-cause.ts'
import type { Outcome } from '../../../../src/domain/usage.ts'

// A record, so that a new outcome in the domain is a type error here.
export const OUTCOMES: Readonly<Record<Outcome, string>> = {
  completed: 'completed',
  client_left: 'client disconnected',
  upstream_failed: 'provider failed',
  upstream_broke: 'stream interrupted',
  refused: 'refused',
  recovered: 'recovered',
}

// As a filter.
export const OUTCOME_FILTERS: Readonly<Record<Outcome | 'failed', string>> = { failed: 'any failure', ...OUTCOMES }

export const CAUSES: Readonly<Record<ErrorCause, string>> = {
  caller: 'caller',
  limits: 'limits',
  money: 'credits and budgets',
  provider: 'provider',
}

const ATTEMPT_OUTCOMES: Readonly<Record<string, string>> = {
  answered: 'succeeded',
  client_left: 'client disconnected',
  refused: 'connection refused',
  dns: 'DNS error',
  tls: 'TLS error',
  reset: 'connection reset',
  connect_timeout: 'connect timeout',
  timeout: 'timeout',
  rejected: 'request rejected',
  limited: 'rate limited',
  credential: 'credential rejected',
  status: 'HTTP error',
}

export function attemptOutcome(outcome: string): string {
  return ATTEMPT_OUTCOMES[outcome] ?? outcome.replaceAll('_', ' ')
}
