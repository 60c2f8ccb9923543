// One adapter for each provider of the catalog, made when it is first needed and kept until the provider changes.
import { isDeepStrictEqual } from 'node:util'
import type { Provider } from '../domain/catalog.ts'
import { isSdkKind } from '../domain/presets.ts'
import type { Adapter } from './adapter.ts'
import { sdkAdapter } from './ai-sdk.ts'
import { demoAdapter } from './demo.ts'
import { openaiAdapter, type WireBounds, type WireNeeds } from './openai.ts'

export type Registry = { get(provider: Provider): Adapter; close(): Promise<void> }

export function adapterRegistry(bounds: WireBounds, needs: WireNeeds): Registry {
  const adapters = new Map<string, { adapter: Adapter; provider: Provider }>()

  function adapterOf(provider: Provider): Adapter {
    const { kind } = provider
    if (kind === 'demo') return demoAdapter(provider)
    return isSdkKind(kind) ? sdkAdapter(provider, kind, bounds, needs) : openaiAdapter(provider, bounds, needs)
  }

  function make(provider: Provider): Adapter {
    const adapter = adapterOf(provider)
    adapters.set(provider.id, { adapter, provider })
    return adapter
  }

  return {
    get(provider) {
      const kept = adapters.get(provider.id)
      if (kept?.provider === provider) return kept.adapter
      if (kept === undefined) return make(provider)
      // Another catalog, but perhaps the same provider.
      if (isDeepStrictEqual(kept.provider, provider)) {
        kept.provider = provider
        return kept.adapter
      }
      kept.adapter.retire()
      return make(provider)
    },
    close: async () => {
      await Promise.all([...adapters.values()].map(({ adapter }) => adapter.close()))
    },
  }
}
