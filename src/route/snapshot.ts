// The targets as an operator sees them: the state of every target and credential, without secrets.
import type { CredentialView, TargetsView, TargetView } from '../domain/routing.ts'
import { limitedUntil } from './credential-pool.ts'
import { type RecentView, recentAt } from './recent.ts'
import { successRate, usualFirstByteMs } from './target-health.ts'
import type { Targets } from './targets.ts'

export function snapshot(targets: Targets): TargetsView {
  const { clock } = targets
  const nowMs = clock.monotonic()
  const wallClock = (atMs: number) => Math.round(clock.now() + atMs - nowMs)
  const views: TargetView[] = []
  for (const { provider, model, breaker, health } of targets.states()) {
    const recent = recentAt(health.recent, nowMs)
    views.push({
      provider,
      model,
      state: breaker.state,
      status: breaker.state !== 'closed' ? 'down' : isDegraded(recent) ? 'degraded' : 'healthy',
      recent,
      successRate: successRate(health),
      firstByteMs: usualFirstByteMs(health),
      inFlight: health.inFlight,
      requests: health.requests,
      failures: health.failures,
      openUntil: breaker.state === 'open' ? wallClock(breaker.openUntilMs) : null,
    })
  }
  const credentials: CredentialView[] = []
  for (const credentialState of targets.credentialStates()) {
    if (credentialState.credential === undefined) continue
    const limited = limitedUntil(credentialState, nowMs)
    const until = credentialState.state === 'dead' ? credentialState.probeAtMs : limited
    credentials.push({
      provider: credentialState.provider,
      id: credentialState.credential.id,
      state: credentialState.state === 'active' && limited !== null ? 'limited' : credentialState.state,
      until: until === null ? null : wallClock(until),
    })
  }
  return { targets: views, credentials }
}

// A few failures in few requests say little.
function isDegraded({ requests, failures }: RecentView): boolean {
  return failures >= DEGRADED_FAILURES_MIN && failures >= requests * DEGRADED_SHARE_MIN
}

const DEGRADED_FAILURES_MIN = 3
const DEGRADED_SHARE_MIN = 0.05
