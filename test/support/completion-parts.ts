// Produces the scripted upstream's output: the frames of a stream, lazily, so that a gigabyte needs no memory, and the
// JSON form of the same answer.
import type { ChatBody } from './chat-body.ts'
import type { Plan } from './upstream-plan.ts'

// Each is exactly one token of o200k, so that our journal and the gateway's estimate can be compared one to one.
export const DEFAULT_WORDS: readonly string[] = [
  'Hello',
  ' there',
  ',',
  ' how',
  ' can',
  ' I',
  ' help',
  ' you',
  ' today',
  '?',
]

export const UPSTREAM_ID = 'chatcmpl-upstream-id-canary'

// One frame's JSON, and what the journal counts once it is written.
export type Piece = { readonly json: string; readonly produces?: 'content' | 'reasoning' }

export type Counts = { prompt: number; completion: number; reasoning: number }

function* contentWords(plan: Plan, chat: ChatBody): Generator<string> {
  if (plan.words === undefined && plan.chunks === undefined) {
    yield* DEFAULT_WORDS.slice(0, chat.outputCap)
    return
  }
  const words = plan.words ?? DEFAULT_WORDS
  const total = plan.chunks ?? words.length
  const filler = plan.chunkBytes === undefined ? undefined : 'x'.repeat(plan.chunkBytes)
  for (let i = 0; i < total; i++) yield filler ?? words[i % words.length] ?? ''
}

export function* streamPieces(plan: Plan, chat: ChatBody): Generator<Piece> {
  const counts: Counts = { prompt: promptTokensOf(plan, chat), completion: 0, reasoning: 0 }
  const choices = Array.from({ length: plan.n ?? chat.n }, (_, index) => index)
  const envelope = (rest: object): string => chunkText(plan, chat, counts, rest)

  if (plan.roleInFirstDelta !== false) {
    const delta = { role: 'assistant', content: '', refusal: null }
    for (const index of choices) yield { json: envelope({ choices: [choice(index, delta)] }) }
  }
  for (const { delta, produces } of deltas(plan, chat)) {
    for (const index of choices) {
      count(counts, produces)
      yield { json: envelope({ choices: [choice(index, delta)] }), produces }
    }
  }
  if (plan.finishReason !== null) {
    const usage = plan.usage === 'withFinish' ? { usage: usageOf(plan, counts) } : {}
    const finish = finishReasonOf(plan, chat)
    for (const index of choices) yield { json: envelope({ choices: [choice(index, {}, finish)], ...usage }) }
  }
  if (chat.includeUsage && reportsByItself(plan)) {
    yield { json: envelope({ choices: [], usage: usageOf(plan, counts) }) }
  }
}

export function count(counts: Counts, produces: Piece['produces']): void {
  if (produces !== undefined) counts.completion += 1
  if (produces === 'reasoning') counts.reasoning += 1
}

export function promptTokensOf(plan: Plan, chat: ChatBody): number {
  return plan.promptTokens ?? chat.promptTokens
}

export function completionText(plan: Plan, chat: ChatBody, counts: Counts): string {
  const words = speaks(plan) ? [...contentWords(plan, chat)] : []
  const n = plan.n ?? chat.n
  const reasoning = plan.reasoning ?? []
  counts.reasoning += reasoning.length * n
  counts.completion += (reasoning.length + words.length + (plan.toolCalls?.length ?? 0)) * n
  const message = {
    role: 'assistant',
    content: speaks(plan) ? words.join('') : null,
    refusal: null,
    ...(reasoning.length > 0 ? { reasoning_content: reasoning.join('') } : {}),
    ...(plan.toolCalls === undefined ? {} : { tool_calls: plan.toolCalls.map((call, i) => toolCall(call, i)) }),
  }
  const choices = Array.from({ length: n }, (_, index) => ({
    index,
    message,
    logprobs: null,
    finish_reason: finishReasonOf(plan, chat),
  }))
  const usage = plan.usage === 'none' ? {} : { usage: usageOf(plan, counts) }
  return withUsageText(plan, { ...head(chat, 'chat.completion'), choices, ...usage })
}

// Tool calls replace the default words; given words come before them.
function speaks(plan: Plan): boolean {
  return plan.toolCalls === undefined || plan.words !== undefined || plan.chunks !== undefined
}

function* deltas(plan: Plan, chat: ChatBody): Generator<{ delta: object; produces: 'content' | 'reasoning' }> {
  for (const text of plan.reasoning ?? []) yield { delta: { reasoning_content: text }, produces: 'reasoning' }
  if (speaks(plan)) {
    for (const content of contentWords(plan, chat)) yield { delta: { content }, produces: 'content' }
  }
  for (const [index, call] of (plan.toolCalls ?? []).entries()) {
    yield { delta: { tool_calls: [{ index, ...toolCall(call, index) }] }, produces: 'content' }
  }
}

function chunkText(plan: Plan, chat: ChatBody, counts: Counts, rest: object): string {
  const usage =
    plan.usage === 'perChunk' ? { usage: usageOf(plan, counts) } : chat.includeUsage ? { usage: null } : undefined
  return withUsageText(plan, { ...head(chat, 'chat.completion.chunk'), ...usage, ...rest })
}

function head(chat: ChatBody, object: string): object {
  return { id: UPSTREAM_ID, object, created: 1_760_000_000, model: chat.model, system_fingerprint: 'fp_upstream' }
}

function choice(index: number, delta: object, finish: string | null = null): object {
  return { index, delta, logprobs: null, finish_reason: finish }
}

function toolCall(call: NonNullable<Plan['toolCalls']>[number], index: number): object {
  return {
    id: call.id ?? `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: call.arguments },
  }
}

function finishReasonOf(plan: Plan, chat: ChatBody): string | null {
  if (plan.finishReason !== undefined) return plan.finishReason
  if (plan.toolCalls !== undefined) return 'tool_calls'
  const cut = plan.words === undefined && plan.chunks === undefined && chat.outputCap < DEFAULT_WORDS.length
  return cut ? 'length' : 'stop'
}

function reportsByItself(plan: Plan): boolean {
  return plan.usage !== 'none' && plan.usage !== 'perChunk' && plan.usage !== 'withFinish'
}

const USAGE_TEXT_MARK = '@usage-text@'

function usageOf(plan: Plan, counts: Counts): unknown {
  if (plan.usageText !== undefined) return USAGE_TEXT_MARK
  if (typeof plan.usage === 'object') return plan.usage
  return {
    prompt_tokens: counts.prompt,
    completion_tokens: counts.completion,
    total_tokens: counts.prompt + counts.completion,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: counts.reasoning },
  }
}

function withUsageText(plan: Plan, value: object): string {
  const text = JSON.stringify(value)
  return plan.usageText === undefined ? text : text.replace(`"${USAGE_TEXT_MARK}"`, () => plan.usageText ?? '')
}

// What the other dialects read of a chat's frames and answers.
export type ChatUsage = {
  readonly prompt_tokens?: number
  readonly completion_tokens?: number
  readonly [field: string]: unknown
}
export type CalledTool = {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}
export type Spoken = {
  readonly content?: string | null
  readonly reasoning_content?: string
  readonly tool_calls?: readonly CalledTool[]
}
export type ChatFrame = {
  readonly model: string
  readonly usage?: ChatUsage | null
  readonly choices: readonly { readonly delta: Spoken; readonly finish_reason: string | null }[]
}

export function readCompletion(text: string) {
  const { model, choices, usage } = JSON.parse(text) as {
    readonly model: string
    readonly usage?: ChatUsage
    readonly choices: readonly [{ readonly message: Spoken; readonly finish_reason: string }]
  }
  const [{ message, finish_reason: finish }] = choices
  const { content, reasoning_content: thought, tool_calls: calls = [] } = message
  return { model, usage, finish, content, thought, calls }
}

// Several events in one piece: the journal counts a piece as one chunk.
export function framed(events: readonly object[]): string {
  return events.map(event => `event: ${(event as { type: string }).type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
}
