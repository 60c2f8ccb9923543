// Watches for providers that cannot be called at all: every target's breaker is open. A provider is reported once when that begins,
// and once when a target can be called again.
import { successRate } from './target-health.ts'
import type { TargetState, Targets } from './targets.ts'

export type ProviderWatch = {
  // One of its breakers has opened or closed.
  check(provider: string): void
  // Runs periodically.
  checkAll(): void
  // These were reported before this process began: they have recovered once one of their targets answers.
  resume(providers: readonly string[]): void
}

type Reports = {
  onUnavailable(provider: string, targets: number): void
  onRecovered(provider: string): void
}

export function watchProviders(targets: () => Pick<Targets, 'states'>, reports: Reports): ProviderWatch {
  // By provider, whether it was this process that saw it fail.
  const unavailable = new Map<string, { readonly isSeen: boolean }>()

  function check(provider: string): void {
    const states = [...targets().states()].filter(state => state.provider === provider)
    const callable = states.filter(({ breaker }) => breaker.state === 'closed')
    const reported = unavailable.get(provider)
    if (states.length === 0) unavailable.delete(provider)
    else if (callable.length === 0 && reported?.isSeen !== true) {
      unavailable.set(provider, { isSeen: true })
      reports.onUnavailable(provider, states.length)
    } else if (reported !== undefined && callable.some(state => reported.isSeen || hasAnswered(state))) {
      unavailable.delete(provider)
      reports.onRecovered(provider)
    }
  }

  return {
    check,
    checkAll() {
      for (const provider of [...unavailable.keys()]) check(provider)
    },
    resume(providers) {
      for (const provider of providers) if (!unavailable.has(provider)) unavailable.set(provider, { isSeen: false })
    },
  }
}

// In a process that has just begun, every breaker is closed.
function hasAnswered({ health }: TargetState): boolean {
  return (successRate(health) ?? 0) > 0
}
