// One node among several: polls the store for changes by the others (a changed catalog, streams to be ended), applies them, and
// knows how many nodes there are.

import { wordsOf } from '../../lib/error-text.ts'
import type { News } from '../../store/contract/nodes.ts'
import type { Ground } from '../context.ts'
import type { Drain } from '../drain.ts'
import type { House } from '../open-store.ts'

export type Neighbours = {
  // As of the last poll, including this one; at least 1.
  nodesAlive(): number
  stop(): void
}

const NOBODY: Neighbours = { nodesAlive: () => 1, stop: () => undefined }

// The embedded store has one process, which knows its own changes.
export function watchNodes(house: House, drain: Pick<Drain, 'cutKey'>, ground: Ground): Neighbours {
  return ground.config.databaseUrl === undefined ? NOBODY : watch(house, drain, ground)
}

function watch({ store: { nodes }, keeper }: House, drain: Pick<Drain, 'cutKey'>, { config, log }: Ground): Neighbours {
  const { newsEveryMs, nodesClearedEveryMs } = config.bounds
  let heard: News = { catalogRevision: keeper.revision(), abortedKeys: [], nodesAlive: 1 }
  let isAway = false
  let timer: NodeJS.Timeout | undefined

  async function hear(): Promise<void> {
    const before = heard
    heard = await nodes.news()
    for (const keyId of heard.abortedKeys) if (!before.abortedKeys.includes(keyId)) drain.cutKey(keyId)
    if (heard.catalogRevision !== keeper.revision()) await keeper.refresh()
  }

  // The next poll starts only after this one: a slow or unavailable store finds no queue of them when it comes back.
  async function ask(): Promise<void> {
    try {
      await hear()
      if (isAway) log.info({}, 'news of the other nodes are read again')
      isAway = false
    } catch (error) {
      if (!isAway) log.error({ err: wordsOf(error) }, 'news of the other nodes cannot be read; it is tried on')
      isAway = true
    }
    if (!stopped) timer = setTimeout(ask, newsEveryMs)
  }

  const clear = () =>
    nodes.clear().then(
      cleared => cleared > 0 && log.info({ cleared }, 'nodes that were silent for a day are forgotten'),
      error => log.error({ err: wordsOf(error) }, 'silent nodes could not be cleared away'),
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
