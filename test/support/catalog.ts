// Providers and models to declare, provision and save in tests of the catalog.
import { NO_QUIRKS, type Provider } from '../../src/domain/catalog.ts'
import type { DeclaredModel } from '../../src/store/contract/catalog.ts'

export const PRICES = { prompt: 123_456_789_012n, completion: 1n, cacheRead: 0n, cacheWrite: 2_500_000n, request: 0n }

export function provider(id: string, more: Partial<Provider> = {}): Provider {
  return {
    id,
    kind: 'openai',
    baseUrl: 'http://127.0.0.1:1/v1',
    passthrough: [],
    maxTokensField: 'max_tokens',
    timeouts: { connectMs: 1, firstByteStreamMs: 2, firstByteJsonMs: 3, idleMs: 4, totalMs: 5 },
    quirks: NO_QUIRKS,
    settings: {},
    ...more,
  }
}

export function model(id: string, more: Partial<DeclaredModel> = {}): DeclaredModel {
  return {
    id,
    aliases: [`alias-${id}`],
    name: id,
    description: '',
    ownedBy: 'acme',
    contextLength: 1000,
    maxOutputTokens: 100,
    inputModalities: ['text'],
    mediaMaxTokens: 0,
    hiddenReasoning: false,
    supportedParameters: ['tools'],
    strategy: 'priority',
    prices: PRICES,
    targets: [{ provider: 'a', model: id, priority: 0, weight: 1 }],
    newPriceVersion: `v-${id}`,
    ...more,
  }
}
