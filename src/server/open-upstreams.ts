// Opens what serves the requests of all endpoints: the adapters with the state of their targets, and the token counters.
import { promptCounts } from '../admit/count-tokens.ts'
import type { TargetsView } from '../domain/routing.ts'
import { wordsOf } from '../lib/text.ts'
import { tokenCounter } from '../lib/token-counter.ts'
import { maintainTargets } from '../route/probing.ts'
import { watchProviders } from '../route/provider-watch.ts'
import { snapshot } from '../route/snapshot.ts'
import { openTargets, type TargetAlarm } from '../route/targets.ts'
import { type TestRequest, testTarget } from '../route/test-target.ts'
import { largeAnswers } from '../upstream/large-answers.ts'
import { adapterRegistry } from '../upstream/registry.ts'
import { announcer } from './announce.ts'
import type { ServerContext } from './context.ts'
import type { OpenedStore } from './open-store.ts'

// Counts tokens of prompts, and of answers without usage.
export function openCounters({ config, clock }: ServerContext) {
  const { bounds } = config
  const counter = tokenCounter({ timeoutMs: bounds.estimateTimeoutMs })
  const olderCounter = tokenCounter({ timeoutMs: bounds.estimateTimeoutMs, encoding: 'cl100k' })
  return {
    counter,
    promptCounts: promptCounts({ ...bounds, clock, counters: { o200k: counter, cl100k: olderCounter } }),
    async close() {
      await counter.close()
      await olderCounter.close()
    },
  }
}

// The adapters, and the state of the targets that they call.
export function openUpstreams({ catalog, store }: Pick<OpenedStore, 'catalog' | 'store'>, context: ServerContext) {
  const { config, clock, metrics, log, onBug } = context
  const { bounds } = config
  const large = largeAnswers(bounds)
  const adapters = adapterRegistry(bounds, {
    clock,
    onBug,
    memory: context.answers,
    large,
    limit: context.upstreamConnections,
    network: config.network,
  })
  const announce = announcer(store.alarms, error =>
    log.error({ err: wordsOf(error) }, 'cannot raise an event; retrying'),
  )
  const providers = watchProviders(() => targets, {
    onUnavailable: (providerId, count) => announce.tell({ kind: 'provider', providerId, targets: count }, true),
    onRecovered: providerId => announce.tell({ kind: 'provider', providerId, targets: 0 }, false),
  })
  store.alarms.unavailableProviders().then(providers.resume, onBug)
  const targets = openTargets({
    bounds,
    catalog: catalog.current,
    adapters,
    clock,
    newId: context.newId,
    onAlarm(alarm) {
      metrics.targetAlarm(alarm.kind)
      log.warn(alarm, ALARMS[alarm.kind])
      if ('model' in alarm) providers.check(alarm.provider)
      else {
        const { provider: providerId, credential, kind } = alarm
        announce.tell({ kind: 'credential', providerId, credential }, kind === 'credential_dead')
      }
    },
    onBug,
  })
  metrics.watch(() => snapshot(targets))
  const maintaining = setInterval(() => {
    maintainTargets(targets)
    providers.checkAll()
    announce.retry()
  }, bounds.targetsMaintainedEveryMs)

  return {
    adapters,
    targets,
    health: (): TargetsView => snapshot(targets),
    testTarget: (request: TestRequest) => testTarget(request, targets, catalog.current()),
    healthOf(id: string): TargetsView {
      const view = snapshot(targets)
      const ofIt = ({ provider }: { readonly provider: string }) => provider === id
      return { targets: view.targets.filter(ofIt), credentials: view.credentials.filter(ofIt) }
    },
    async close() {
      clearInterval(maintaining)
      targets.close()
      await adapters.close()
      await large.close()
    },
  }
}

const ALARMS: Readonly<Record<TargetAlarm['kind'], string>> = {
  breaker_opened: 'circuit breaker opened',
  breaker_closed: 'circuit breaker closed',
  credential_dead: 'credential rejected by the provider; no longer used',
  credential_alive: 'credential accepted by the provider again',
}
