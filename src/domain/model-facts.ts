// Data about well-known models that the price list lacks: maximum output, context length where the list has none, and hidden
// reasoning. From the vendors' own pages.

export type ModelFacts = {
  // Null: limited only by the context.
  readonly maxOutputTokens: number | null
  readonly contextLength?: number
  readonly hiddenReasoning?: boolean
}

// By name without any prefix. A missing name is not guessed: too low a maximum would give output away, too high a one is refused
// by the vendor.
export function factsOf(name: string): ModelFacts | undefined {
  const bare = name.slice(name.lastIndexOf('/') + 1)
  return FACTS.find(([pattern]) => pattern.test(bare))?.[1]
}

const K128 = 131_072
const THINKING_100K: ModelFacts = { maxOutputTokens: 100_000, hiddenReasoning: true }
const THINKING_128K: ModelFacts = { maxOutputTokens: 128_000, hiddenReasoning: true }
const THINKING_64K: ModelFacts = { maxOutputTokens: 65_536, hiddenReasoning: true, contextLength: 1_048_576 }

const FACTS: readonly (readonly [RegExp, ModelFacts])[] = [
  [/^(chatgpt-4o-latest|gpt-4o|gpt-4o-mini)$/, { maxOutputTokens: 16_384 }],
  [/^gpt-4\.1(-mini|-nano)?$/, { maxOutputTokens: 32_768 }],
  [/^gpt-4-turbo$/, { maxOutputTokens: 4096 }],
  [/^gpt-4$/, { maxOutputTokens: 8192 }],
  [/^gpt-3\.5-turbo$/, { maxOutputTokens: 4096 }],
  [/^gpt-5(\.1|\.2)?(-mini|-nano)?$/, THINKING_128K],
  [/^(o1|o3|o3-mini|o3-pro|o4-mini)$/, THINKING_100K],
  [/^gpt-oss-(20b|120b)$/, { maxOutputTokens: 65_536, contextLength: K128 }],
  [/^claude-3-(haiku|opus|sonnet)/, { maxOutputTokens: 4096 }],
  [/^claude-3[.-]5-/, { maxOutputTokens: 8192 }],
  [/^claude-(3[.-]7-sonnet|sonnet-4[.-][0156]|haiku-4[.-]5|opus-4[.-]5)/, { maxOutputTokens: 64_000 }],
  [/^claude-opus-4[.-][01]$/, { maxOutputTokens: 32_000 }],
  [/^claude-opus-4[.-]6$/, { maxOutputTokens: 128_000 }],
  [/^gemini-(1\.5|2\.0)-(pro|flash|flash-lite)$/, { maxOutputTokens: 8192, contextLength: 1_048_576 }],
  [/^gemini-(2\.5-(pro|flash|flash-lite)|3-(pro|flash)-preview|3\.1-pro-preview)$/, THINKING_64K],
  [/^llama-3\.3-70b-versatile$/, { maxOutputTokens: 32_768, contextLength: K128 }],
  [/^llama-3\.1-8b-instant$/, { maxOutputTokens: K128, contextLength: K128 }],
  [/^deepseek-chat$/, { maxOutputTokens: 8192 }],
  [/^deepseek-reasoner$/, { maxOutputTokens: 65_536 }],
  [/^grok-4/, { maxOutputTokens: null, hiddenReasoning: true }],
  [/^grok-(2|3|code)/, { maxOutputTokens: null }],
  [/^(mistral-(large|medium|small)(-latest)?|mistral-nemo)$/, { maxOutputTokens: null, contextLength: K128 }],
  [/^(mistral|ministral|codestral|devstral)-?[\w-]*$/, { maxOutputTokens: null }],
  [/^Llama-3\.3-70B-Instruct-Turbo$/, { maxOutputTokens: null, contextLength: K128 }],
  [/^command-a$/, { maxOutputTokens: 8000, contextLength: 256_000 }],
  [/^command-r(-plus|7b)?$/, { maxOutputTokens: 4000, contextLength: 128_000 }],
]
