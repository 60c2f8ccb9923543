// The targets as an operator sees them: the state of every target and credential, without secrets.
import type { CredentialView, FleetView, TargetView } from '../domain/target-view.ts'
import { limitedUntil } from './credential-pool.ts'
import { successRate, usualFirstByteMs } from './target-health.ts'
import type { Fleet } from './targets.ts'

export function snapshot(fleet: Fleet): FleetView {
  const { clock } = fleet
  const nowMs = clock.monotonic()
  const wallClock = (atMs: number) => Math.round(clock.now() + atMs - nowMs)
  const targets: TargetView[] = []
  for (const { provider, model, breaker, health } of fleet.targets()) {
    targets.push({
      provider,
      model,
      state: breaker.state,
      successRate: successRate(health),
      firstByteMs: usualFirstByteMs(health),
      inFlight: health.inFlight,
      requests: health.requests,
      failures: health.failures,
      openUntil: breaker.state === 'open' ? wallClock(breaker.openUntilMs) : null,
    })
  }
  const credentials: CredentialView[] = []
  for (const badge of fleet.badges()) {
    if (badge.credential === undefined) continue
    const limited = limitedUntil(badge, nowMs)
    const until = badge.state === 'dead' ? badge.probeAtMs : limited
    credentials.push({
      provider: badge.provider,
      id: badge.credential.id,
      state: badge.state === 'active' && limited !== null ? 'limited' : badge.state,
      until: until === null ? null : wallClock(until),
    })
  }
  return { targets, credentials }
}
