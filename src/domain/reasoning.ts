// Which answers may contain tokens that the caller never sees: from reasoning models, and for requests that hide or summarise the
// reasoning. For those, only the upstream's own count tells how much was produced. See
// docs/decisions/reasoning-and-disconnects.md.
import { isRawJson } from '../lib/raw-json.ts'
import type { Model, Target } from './catalog.ts'

// Whether a model reasons, by its id and its targets' names. An operator's explicit setting takes precedence.
export function isKnownToReason({
  id,
  targets,
}: {
  readonly id: string
  readonly targets: readonly Pick<Target, 'model'>[]
}): boolean {
  return reasons(id) || targets.some(({ model }) => reasons(model))
}

export type ReasoningPreference = {
  // The request excludes the reasoning from the answer.
  readonly hides: boolean
  // The request enables reasoning, which many vendors show only as a summary.
  readonly asks: boolean
}

// Reads all field names that providers use for it; `fields` are those of the body.
export function readReasoningPreference(fields: Readonly<Record<string, unknown>>): ReasoningPreference {
  const { reasoning_effort: effort, include_reasoning, reasoning_format, thinking_budget } = fields
  const reasoning = record(fields.reasoning)
  const thinking = record(fields.thinking)
  return {
    hides:
      says(reasoning.exclude, true) ||
      says(include_reasoning, false) ||
      reasoning_format === 'hidden' ||
      thinking.display === 'omitted',
    asks:
      asked(effort) ||
      asked(reasoning.effort) ||
      asked(reasoning.max_tokens) ||
      reasoning.enabled === true ||
      asked(thinking_budget) ||
      asked(thinking.budget_tokens) ||
      (typeof thinking.type === 'string' && thinking.type !== 'disabled'),
  }
}

// Whether this answer may contain hidden tokens.
export function mayReasonUnseen(preference: ReasoningPreference, model: ThinkingModel): boolean {
  return model.hiddenReasoning || preference.hides || (preference.asks && model.hiddenReasoningStated !== true)
}

type ThinkingModel = Pick<Model, 'hiddenReasoning' | 'hiddenReasoningStated'>

// Names match at the start or after a vendor's prefix (`openai/`, `us.deepseek.`); dates and sizes may follow.
const AT = '(?:^|[/.:@])'
const REASONING: readonly RegExp[] = [
  new RegExp(`${AT}o[1-9](?:$|[-:@])`),
  new RegExp(`${AT}(?:gpt-[5-9]|gpt-oss|codex-mini|computer-use)`),
  new RegExp(`${AT}(?:deepseek-)?r[12](?:$|[-:@])`),
  /deepseek-r[1-9]/,
  /gemini-(?:2\.5|[3-9]|pro-latest|flash-latest|flash-lite-latest)/,
  /grok-(?:3-mini|[4-9]|code)/,
  /qwen-?3(?!.*(?:instruct|coder|embedding))/,
  /(?:^|[^a-z])(?:qwq|qvq|magistral|minimax-m[1-9]|glm-4\.[5-9]|glm-[5-9]|sonar-deep-research|ernie-x1|hunyuan-t1|exaone-deep)/,
  /(?:reason(?:er|ing)|thinking|deep-research)/,
]
const NOT_REASONING = /non-reasoning|non-thinking|no-thinking|nothinking/

function reasons(name: string): boolean {
  const lower = name.toLowerCase()
  return !NOT_REASONING.test(lower) && REASONING.some(pattern => pattern.test(lower))
}

// Providers treat `"true"` and 1 like true.
function says(value: unknown, meant: boolean): boolean {
  const said = typeof value === 'string' ? value.toLowerCase() : value
  return said === meant || said === String(meant) || said === Number(meant) || said === String(Number(meant))
}

// An integer past 2⁵³ is raw JSON and counts as a request for the maximum.
function asked(value: unknown): boolean {
  return isRawJson(value) || (typeof value === 'string' && value !== 'none') || (typeof value === 'number' && value > 0)
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
