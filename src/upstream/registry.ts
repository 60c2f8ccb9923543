// One adapter for each provider of the catalog, made when it is first needed.
import type { Provider } from '../domain/catalog.ts'
import type { Adapter } from './adapter.ts'
import { demoAdapter } from './demo.ts'
import { openaiAdapter, type WireBounds, type WireNeeds } from './openai.ts'

export type Registry = { get(provider: Provider): Adapter; close(): Promise<void> }

export function adapterRegistry(apiKeys: ReadonlyMap<string, string>, bounds: WireBounds, needs: WireNeeds): Registry {
  const adapters = new Map<string, Adapter>()
  return {
    get(provider) {
      let adapter = adapters.get(provider.id)
      if (adapter === undefined) {
        adapter =
          provider.kind === 'demo'
            ? demoAdapter(provider)
            : openaiAdapter(provider, apiKeys.get(provider.id), bounds, needs)
        adapters.set(provider.id, adapter)
      }
      return adapter
    },
    close: async () => {
      await Promise.all([...adapters.values()].map(adapter => adapter.close()))
    },
  }
}
