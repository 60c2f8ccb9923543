// The catalog of an unconfigured gateway: two offline models, so that a first request works at once.
import { TIMEOUTS } from '../config/limits.ts'
import { NO_QUIRKS } from '../domain/catalog.ts'
import type { DeclaredCatalog } from '../store/contract/catalog.ts'

export const DEMO_MODEL = 'demo/echo'

// With a price, so that billing is visible.
export function demoCatalog(newPriceVersion: () => string): DeclaredCatalog {
  const prices = {
    prompt: 1_000_000n,
    completion: 2_000_000n,
    cacheRead: 1_000_000n,
    cacheWrite: 1_000_000n,
    request: 0n,
  }
  return {
    providers: [
      {
        id: 'demo',
        kind: 'demo',
        baseUrl: '',
        passthrough: [],
        maxTokensField: 'max_tokens',
        timeouts: TIMEOUTS,
        quirks: NO_QUIRKS,
        settings: {},
      },
    ],
    models: [
      {
        id: DEMO_MODEL,
        aliases: [],
        name: 'Echo',
        description: 'Offline: echoes your message word by word.',
        ownedBy: 'demo',
        contextLength: 128_000,
        maxOutputTokens: 4_096,
        inputModalities: ['text'],
        mediaMaxTokens: 0,
        hiddenReasoning: false,
        hiddenReasoningStated: true,
        supportedParameters: ['max_tokens', 'stream'],
        prices,
        newPriceVersion: newPriceVersion(),
        strategy: 'priority',
        targets: [{ provider: 'demo', model: 'echo', priority: 0, weight: 1 }],
      },
      {
        id: 'demo/embed',
        aliases: [],
        name: 'Embed',
        description: 'Offline: the same text always has the same vector, which says nothing about its meaning.',
        ownedBy: 'demo',
        contextLength: 8192,
        maxOutputTokens: 0,
        embedding: { dimensions: 256, dimensionsMin: 8 },
        inputModalities: ['text'],
        mediaMaxTokens: 0,
        hiddenReasoning: false,
        hiddenReasoningStated: true,
        supportedParameters: ['dimensions', 'encoding_format'],
        prices: { ...prices, completion: 0n },
        newPriceVersion: newPriceVersion(),
        strategy: 'priority',
        targets: [{ provider: 'demo', model: 'embed', priority: 0, weight: 1 }],
      },
    ],
  }
}
