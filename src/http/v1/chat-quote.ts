// POST /v1/chat/completions/quote: the body of a chat, answered with its cost and the planned targets.
import type { EndpointRule } from '../../admit/authorize.ts'
import { parseChat } from '../../chat/parse-request.ts'
import { type Quote, type QuoteNeeds, quote } from '../../chat/quote.ts'
import { tightestBudget } from '../../domain/budget.ts'
import { formatCredits } from '../../domain/credits.ts'
import type { Pass } from '../../domain/handoff.ts'
import { leastLeft } from '../../domain/hold.ts'
import { isoSecond } from '../../domain/wire-time.ts'
import type { Served } from '../../telemetry/request-log.ts'
import type { BodyMemory } from '../body-memory.ts'
import { commonHeaders, costHeader, type RequestContext, type ResponseNeeds, sendJson } from '../response.ts'
import { type BodyNeeds, readChat } from './completions.ts'
import { exactly, type V1Endpoint } from './endpoint.ts'

export type ChatQuoteNeeds = QuoteNeeds & BodyNeeds & { readonly bodies: BodyMemory; readonly reply: ResponseNeeds }

const rule: EndpointRule = {
  endpoint: 'chat.completions.quote',
  method: 'POST',
  scope: 'chat.completions',
  evenIfSuspended: false,
}

export function chatQuote(needs: ChatQuoteNeeds): V1Endpoint {
  return { rule, match: exactly('/v1/chat/completions/quote'), serve: (ctx, pass) => serve(ctx, pass, needs) }
}

async function serve(ctx: RequestContext, pass: Pass, needs: ChatQuoteNeeds): Promise<Served> {
  const body = needs.bodies.open(pass.caller.account.id)
  try {
    const chat = await readChat(ctx, parseChat, body.reserve, needs)
    const quoted = await quote(pass, rule, chat, needs)
    const headers = [...commonHeaders(ctx, undefined, needs.reply), ...costHeader(0n, needs.reply)]
    sendJson(ctx, 200, JSON.stringify(quoteObject(quoted, pass, needs)), headers)
    return { status: 200, outcome: 'completed', model: quoted.model, cost: 0n }
  } finally {
    body.release()
  }
}

function quoteObject(quoted: Quote, pass: Pass, needs: ChatQuoteNeeds) {
  const { decision } = quoted
  const limits = limitsObject(quoted, pass, needs)
  return {
    object: 'chat.completion.quote',
    model: quoted.model,
    // Whether the same chat would be admitted now; no promise for later.
    allowed: Object.values(limits).every(({ verdict }) => verdict === 'ok'),
    candidates: quoted.considered,
    tokens: {
      prompt: { estimated: quoted.prompt.estimate, worst_case: quoted.prompt.bound },
      completion: { estimated: quoted.output.estimate, worst_case: quoted.output.bound },
    },
    cost: {
      currency: 'credits',
      estimated: formatCredits(quoted.estimated),
      worst_case: formatCredits(quoted.worstCase),
    },
    hold: formatCredits(decision.kind === 'fits' ? decision.hold : decision.required),
    output_cap: quoted.outputCap,
    limits,
  }
}

function limitsObject({ decision, reserved }: Quote, pass: Pass, { limits }: ChatQuoteNeeds) {
  const { caller } = pass
  const { key } = caller
  const rpm = limits.rpm(key)
  const inFlight = limits.inFlight(key)
  const balances = reserved.balances
  return {
    rpm: {
      verdict: rpm.remaining > 0 ? 'ok' : 'rate_limit_exceeded',
      limit: rpm.limit,
      remaining: rpm.remaining,
      reset: rpm.resetSeconds,
    },
    daily: {
      verdict: key.dailyLimit === null || reserved.dayCount < key.dailyLimit ? 'ok' : 'daily_limit_exceeded',
      limit: key.dailyLimit,
      used: reserved.dayCount,
      remaining: key.dailyLimit === null ? null : Math.max(0, key.dailyLimit - reserved.dayCount),
      resets_at: isoSecond(limits.daily(caller).resetsAt),
    },
    // Without this request itself.
    concurrent: {
      verdict: inFlight - 1 < key.maxConcurrent ? 'ok' : 'concurrency_exceeded',
      limit: key.maxConcurrent,
      in_use: Math.max(0, inFlight - 1),
    },
    credits: {
      verdict: verdictOf(decision),
      limit: decision.kind === 'fits' ? null : decision.limit,
      available: formatCredits(
        balances === null ? 0n : leastLeft(balances.balance, balances.key, tightestBudget(balances.budgets)),
      ),
      owed: formatCredits(balances?.balance.owed ?? 0n),
      required: formatCredits(decision.kind === 'fits' ? decision.hold : decision.required),
      affordable_max_tokens: decision.kind === 'fits' ? decision.outputTokens : decision.affordableTokens,
    },
  } as const
}

function verdictOf(decision: Quote['decision']) {
  if (decision.kind === 'fits') return 'ok'
  if (decision.limit === 'budget') return 'budget_exceeded'
  return decision.heldByOthers ? 'credits_held' : 'insufficient_credits'
}
