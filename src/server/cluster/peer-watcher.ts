// One node among several: polls the store for changes by the others (a changed catalog, streams to be ended), applies them, and
// knows how many nodes there are.
import { wordsOf } from '../../lib/text.ts'
import type { ClusterChanges } from '../../store/contract/nodes.ts'
import type { ServerContext } from '../context.ts'
import type { Drain } from '../drain.ts'
import type { OpenedStore } from '../open-store.ts'

export type PeerNodes = {
  // As of the last poll, including this one; at least 1.
  nodesAlive(): number
  stop(): void
}

const NOBODY: PeerNodes = { nodesAlive: () => 1, stop: () => undefined }

// The embedded store has one process, which knows its own changes.
export function watchNodes(opened: OpenedStore, drain: Pick<Drain, 'cutKey'>, context: ServerContext): PeerNodes {
  return context.config.databaseUrl === undefined ? NOBODY : watch(opened, drain, context)
}

function watch(
  { store: { nodes }, catalogService }: OpenedStore,
  drain: Pick<Drain, 'cutKey'>,
  { config, log }: ServerContext,
): PeerNodes {
  const { clusterChangesEveryMs, nodesClearedEveryMs } = config.bounds
  let heard: ClusterChanges = { catalogRevision: catalogService.revision(), abortedKeys: [], nodesAlive: 1 }
  let isUnavailable = false
  let timer: NodeJS.Timeout | undefined

  async function hear(): Promise<void> {
    const before = heard
    heard = await nodes.changes()
    for (const keyId of heard.abortedKeys) if (!before.abortedKeys.includes(keyId)) drain.cutKey(keyId)
    if (heard.catalogRevision !== catalogService.revision()) await catalogService.refresh()
  }

  // The next poll starts only after this one: a slow or unavailable store finds no queue of them when it comes back.
  async function ask(): Promise<void> {
    try {
      await hear()
      if (isUnavailable) log.info({}, 'polling cluster changes again')
      isUnavailable = false
    } catch (error) {
      if (!isUnavailable) log.error({ err: wordsOf(error) }, 'cannot poll cluster changes; retrying')
      isUnavailable = true
    }
    if (!stopped) timer = setTimeout(ask, clusterChangesEveryMs)
  }

  const clear = () =>
    nodes.clear().then(
      cleared => cleared > 0 && log.info({ cleared }, 'removed nodes without a heartbeat for a day'),
      error => log.error({ err: wordsOf(error) }, 'cannot remove nodes without a heartbeat'),
    )

  let stopped = false
  void ask()
  void clear()
  const clearing = setInterval(clear, nodesClearedEveryMs)
  return {
    nodesAlive: () => heard.nodesAlive,
    stop() {
      stopped = true
      clearTimeout(timer)
      clearInterval(clearing)
    },
  }
}
