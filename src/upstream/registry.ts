// One adapter for each provider of the catalog, created on first use and kept until the provider changes.
import { isDeepStrictEqual } from 'node:util'
import type { Provider } from '../domain/catalog.ts'
import { isSdkKind } from '../domain/presets.ts'
import type { Adapter } from './adapter.ts'
import { sdkAdapter } from './ai-sdk/adapter.ts'
import { anthropicAdapter } from './anthropic/adapter.ts'
import { demoAdapter } from './demo.ts'
import { openaiAdapter, type WireBounds, type WireNeeds } from './openai/adapter.ts'

export type Registry = {
  get(provider: Provider): Adapter
  // Retires the others: they finish calls in flight and keep nothing for later.
  keep(providers: readonly Provider[]): void
  close(): Promise<void>
}

export function adapterRegistry(bounds: WireBounds, needs: WireNeeds): Registry {
  const current = new Map<string, { readonly adapter: Adapter; readonly provider: Provider }>()
  // A request keeps the provider that it was planned with, even if the catalog has changed.
  const known = new WeakMap<Provider, Adapter>()
  const past = new WeakSet<Provider>()
  let inForce: readonly Provider[] = []

  function adapterOf(provider: Provider): Adapter {
    const { kind } = provider
    if (kind === 'demo') return demoAdapter(provider)
    if (!isSdkKind(kind)) return openaiAdapter(provider, bounds, needs)
    const translating = sdkAdapter(provider, kind, bounds, needs)
    return kind === 'anthropic' ? anthropicAdapter(provider, translating, bounds, needs) : translating
  }

  function take(provider: Provider): Adapter {
    const kept = current.get(provider.id)
    // Another catalog may have the same provider.
    const isSame = kept !== undefined && isDeepStrictEqual(kept.provider, provider)
    const adapter = isSame ? kept.adapter : adapterOf(provider)
    known.set(provider, adapter)
    if (isSame) return adapter
    // A late request, planned with a past catalog, keeps nothing for later.
    if (past.has(provider)) adapter.retire()
    else {
      kept?.adapter.retire()
      current.set(provider.id, { adapter, provider })
    }
    return adapter
  }

  return {
    get: provider => known.get(provider) ?? take(provider),
    keep(providers) {
      const named = new Set(providers)
      for (const provider of inForce) if (!named.has(provider)) past.add(provider)
      inForce = providers
      for (const [id, { adapter, provider }] of current) {
        const same = providers.find(each => each.id === id && isDeepStrictEqual(each, provider))
        if (same !== undefined) known.set(same, adapter)
        else {
          adapter.retire()
          current.delete(id)
        }
      }
    },
    close: async () => {
      await Promise.all([...current.values()].map(({ adapter }) => adapter.close()))
    },
  }
}
