// Which answers may hold tokens that their caller never sees: of models that think before they speak, and of requests that
// hide what is thought or have it summed up. Where that may be, only the upstream's own count says what was produced.
// See docs/decisions/reasoning-and-disconnects.md.
import { isRawJson } from '../lib/raw-json.ts'
import type { Model, Target } from './catalog.ts'

// Whether a model thinks, by its names: its id, and what its targets are called. An operator's own word goes before this.
export function isKnownToReason({
  id,
  targets,
}: {
  readonly id: string
  readonly targets: readonly Pick<Target, 'model'>[]
}): boolean {
  return reasons(id) || targets.some(({ model }) => reasons(model))
}

export type ReasoningWish = {
  // It asks that what is thought be left out of the answer.
  readonly hides: boolean
  // It asks for thinking, which many vendors show only in summary.
  readonly asks: boolean
}

// Under whatever names providers take it; `fields` are those of the body.
export function readReasoningWish(fields: Readonly<Record<string, unknown>>): ReasoningWish {
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

// Whether tokens of this answer may be produced unseen.
export function mayReasonUnseen(wish: ReasoningWish, model: ThinkingModel): boolean {
  return model.hiddenReasoning || wish.hides || (wish.asks && model.hiddenReasoningStated !== true)
}

type ThinkingModel = Pick<Model, 'hiddenReasoning' | 'hiddenReasoningStated'>

// Names begin at the start, or behind a vendor's prefix (`openai/`, `us.deepseek.`); dates and sizes may follow.
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

// Providers read `"true"` and 1 as they read true.
function says(value: unknown, meant: boolean): boolean {
  const said = typeof value === 'string' ? value.toLowerCase() : value
  return said === meant || said === String(meant) || said === Number(meant) || said === String(Number(meant))
}

// An integer past 2⁵³ is raw JSON, and asks for as much as may be had.
function asked(value: unknown): boolean {
  return isRawJson(value) || (typeof value === 'string' && value !== 'none') || (typeof value === 'number' && value > 0)
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
}
