// Every provider protocol, each as a provider with one model: what a suite needs to run the same tests on each.
import { standardModel } from './standard-config.ts'

export type Wire = {
  readonly kind: 'openai' | 'anthropic' | 'google' | 'vertex' | 'bedrock' | 'cohere'
  // The provider's name for its model.
  readonly model: string
  readonly apiKey: string
  // For an upstream that serves every protocol at one origin, under the vendors' own paths.
  readonly base: string
  readonly settings: Readonly<Record<string, string>>
}

export const WIRES: readonly Wire[] = [
  { kind: 'openai', model: 'gpt-4o-mini', apiKey: 'wire-canary-openai', base: '/v1', settings: {} },
  { kind: 'anthropic', model: 'claude-sonnet-4-5', apiKey: 'wire-canary-anthropic', base: '/v1', settings: {} },
  { kind: 'google', model: 'gemini-2.5-flash', apiKey: 'wire-canary-google', base: '/v1beta', settings: {} },
  {
    kind: 'vertex',
    model: 'gemini-2.5-pro',
    apiKey: 'wire-canary-vertex',
    base: '/v1/projects/p-1/locations/europe-west4/publishers/google',
    settings: { project: 'p-1', location: 'europe-west4' },
  },
  {
    kind: 'bedrock',
    model: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    apiKey: 'wire-canary-bedrock',
    base: '',
    settings: { region: 'us-east-1' },
  },
  { kind: 'cohere', model: 'command-a-reasoning-08-2025', apiKey: 'wire-canary-cohere', base: '/v2', settings: {} },
]

// A model for each protocol, `test/<kind>`, at its own provider of the same name.
export function wiresConfig(origin: string, wires: readonly Wire[] = WIRES) {
  return {
    providers: wires.map(({ kind, apiKey, base, settings }) => ({
      id: kind,
      kind,
      base_url: `${origin}${base}`,
      api_key: apiKey,
      remote_media: true,
      ...settings,
    })),
    models: wires.map(({ kind, model }) =>
      standardModel({
        id: `test/${kind}`,
        input_modalities: ['text', 'image', 'file', 'audio'],
        media_max_tokens: 1000,
        targets: [{ provider: kind, model }],
        // Otherwise models with names of reasoning models would be read to their end after a disconnect.
        hidden_reasoning: false,
        pricing: {
          prompt: '0.0000025',
          completion: '0.00001',
          input_cache_read: '0.00000125',
          input_cache_write: '0.000003',
        },
      }),
    ),
  }
}
