// How many inputs a provider takes in one call for embeddings, as data, and how those of one request are divided: in order, and
// no call with more than it takes. See docs/providers.md.
import type { Provider } from './catalog.ts'
import type { Embedding } from './chat.ts'

export type BatchLimits = {
  readonly inputs: number
  // Of all inputs together. A text has at most as many tokens as bytes.
  readonly tokens: number
  // Calls at once.
  readonly concurrent: number
}

export type Batch = { readonly inputs: Embedding['inputs']; readonly from: number }

export function batchLimits({ kind, baseUrl }: Pick<Provider, 'kind' | 'baseUrl'>, model: string): BatchLimits {
  const host = URL.parse(baseUrl)?.hostname ?? ''
  const [, , limits] =
    LIMITS.find(([kinds, pattern]) => kinds.has(kind) && pattern.test(kind === 'openai' ? host : model)) ?? USUAL
  return limits
}

const NO_MAX = Number.MAX_SAFE_INTEGER
const only = (...kinds: readonly Provider['kind'][]): ReadonlySet<string> => new Set(kinds)

type Entry = readonly [kinds: ReadonlySet<string>, pattern: RegExp, limits: BatchLimits]

const USUAL: Entry = [only(), /./, { inputs: 2048, tokens: 300_000, concurrent: 4 }]

// The pattern is of the host for kind openai, of the model for others.
const LIMITS: readonly Entry[] = [
  [only('openai'), /^api\.mistral\.ai$/, { inputs: 128, tokens: 16_384, concurrent: 4 }],
  [only('google'), /./, { inputs: 100, tokens: NO_MAX, concurrent: 4 }],
  [only('vertex'), /^gemini-embedding-/, { inputs: 1, tokens: NO_MAX, concurrent: 8 }],
  [only('vertex'), /./, { inputs: 250, tokens: 20_000, concurrent: 4 }],
  [only('cohere'), /./, { inputs: 96, tokens: NO_MAX, concurrent: 4 }],
  [only('bedrock'), /cohere\.embed-/, { inputs: 96, tokens: NO_MAX, concurrent: 4 }],
  [only('bedrock'), /./, { inputs: 1, tokens: NO_MAX, concurrent: 8 }],
]

// An input that is larger than a limit goes alone: the provider decides.
export function batchesOf(
  inputs: Embedding['inputs'],
  limits: Pick<BatchLimits, 'inputs' | 'tokens'>,
): readonly Batch[] {
  const batches: Batch[] = []
  let from = 0
  let tokens = 0
  for (let at = 0; at < inputs.length; at++) {
    const input = inputs[at] as string | readonly number[]
    const size = typeof input === 'string' ? Buffer.byteLength(input) : input.length
    if (at > from && (at - from === limits.inputs || tokens + size > limits.tokens)) {
      batches.push({ inputs: inputs.slice(from, at), from })
      from = at
      tokens = 0
    }
    tokens += size
  }
  batches.push({ inputs: inputs.slice(from), from })
  return batches
}

// With a bound on the values of one answer, which is read as a whole.
export function withValuesMax(limits: BatchLimits, dimensions: number, valuesMax: number): BatchLimits {
  return { ...limits, inputs: Math.max(1, Math.min(limits.inputs, Math.floor(valuesMax / dimensions))) }
}
