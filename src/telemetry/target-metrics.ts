// The upstreams in the metrics: one series for each target and credential of the catalog, read on a scrape.
import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import { CREDENTIAL_STATES, TARGET_STATES, type TargetsView, type TargetView } from '../domain/routing.ts'

export function targetMetrics(registry: Registry, look: () => TargetsView): void {
  // One snapshot serves all metrics of a scrape.
  let seen: TargetsView | undefined
  const view = () => {
    if (seen === undefined) {
      seen = look()
      setImmediate(() => {
        seen = undefined
      })
    }
    return seen
  }

  const target = (
    name: string,
    help: string,
    aggregator: 'average' | 'sum',
    read: (target: TargetView) => number | null,
  ) => {
    new Gauge({
      name,
      help,
      aggregator,
      labelNames: ['provider', 'model'],
      registers: [registry],
      collect() {
        this.reset()
        for (const each of view().targets) {
          const value = read(each)
          if (value !== null) this.set({ provider: each.provider, model: each.model }, value)
        }
      },
    })
  }
  target(
    'turnpike_target_success_ratio',
    'Success rate of recent calls to a target.',
    'average',
    each => each.successRate,
  )
  target('turnpike_target_first_byte_seconds', 'Average time to the first content of a target.', 'average', each =>
    each.firstByteMs === null ? null : each.firstByteMs / 1000,
  )
  target('turnpike_target_in_flight', 'Running calls to a target.', 'sum', each => each.inFlight)
  count('turnpike_target_requests_total', 'Calls to a target.', each => each.requests)
  count('turnpike_target_failures_total', 'Failed calls to a target.', each => each.failures)

  states(
    'turnpike_target_state',
    "1 for the current state of a target's circuit breaker.",
    TARGET_STATES,
    'model',
    () => view().targets.map(({ provider, model, state }) => ({ provider, model, state })),
  )
  states('turnpike_credential_state', '1 for the current state of a credential.', CREDENTIAL_STATES, 'credential', () =>
    view().credentials.map(({ provider, id, state }) => ({ provider, credential: id, state })),
  )

  function count(name: string, help: string, read: (target: TargetView) => number): void {
    new Counter({
      name,
      help,
      labelNames: ['provider', 'model'],
      registers: [registry],
      collect() {
        this.reset()
        for (const each of view().targets) this.inc({ provider: each.provider, model: each.model }, read(each))
      },
    })
  }

  function states<Which extends 'model' | 'credential'>(
    name: string,
    help: string,
    all: readonly string[],
    which: Which,
    read: () => readonly (Readonly<Record<Which, string>> & { readonly provider: string; readonly state: string })[],
  ): void {
    new Gauge({
      name,
      help,
      // True if it is so for one of several processes.
      aggregator: 'max',
      labelNames: ['provider', which, 'state'],
      registers: [registry],
      collect() {
        this.reset()
        for (const { state: now, ...each } of read()) {
          for (const state of all) this.set({ ...each, state }, state === now ? 1 : 0)
        }
      },
    })
  }
}
