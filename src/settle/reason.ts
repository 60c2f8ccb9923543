// Why a request failed, as its row keeps it for operators: the message, its figures, and what each provider said, without the
// caller's content.
import type { Chat } from '../domain/chat.ts'
import type { Failure } from '../domain/failure.ts'
import type { Delivery } from '../domain/handoff.ts'
import { promptTexts } from '../domain/prompt.ts'
import { Refusal } from '../domain/refusal.ts'
import { oneLine, refusedFields } from '../domain/refused-row.ts'
import { withoutQuotations } from '../lib/quotations.ts'
import { NO_ERROR, type Settlement } from '../store/contract/store.ts'

export type Reason = Pick<Settlement, 'errorCode' | 'errorMessage' | 'errorDetail'>

// A longer prompt is not compared: then the provider's words are not kept.
const COMPARED_CHARS_MAX = 500_000

// Also of a request that was served by another provider in the end: then it has no code and no message.
export function reasonOf(refusal: Refusal | undefined, chat: Chat, delivery: Delivery): Reason {
  const { answer, failure } = delivery
  if (refusal === undefined && answer.failures.length === 0 && failure === undefined) return NO_ERROR
  const failures = failure === undefined ? answer.failures : [...answer.failures, failure]
  const said = wordsOf(failures, chat, delivery.output.texts)
  const attempts = attemptsOf(delivery, said)
  const detail = attempts.length === 0 ? {} : { attempts }
  if (refusal === undefined) return { ...NO_ERROR, errorDetail: JSON.stringify(detail) }

  const message = decisiveWords(refusal, failures, said)
  const stored = new Refusal(refusal.code, {
    ...refusal.detail,
    stored: message ?? refusal.message,
    metadata: { ...refusal.detail.metadata, ...detail },
  })
  return errorOf(stored)
}

export function errorOf(refusal: Refusal): Reason {
  const { errorCode, errorMessage, errorDetail } = refusedFields(refusal)
  return { errorCode, errorMessage, errorDetail }
}

// A rejection of the prompt by a provider, for a request that has no delivery.
export function rejectedWith(refusal: Refusal, failure: Failure, chat: Chat): Refusal {
  const stored = wordsOf([failure], chat, []).get(failure) ?? failure.message
  return new Refusal(refusal.code, { ...refusal.detail, stored })
}

type Words = ReadonlyMap<Failure, string>

// What each failure's provider said, if it is known and quotes nothing.
function wordsOf(failures: readonly Failure[], chat: Chat, answered: readonly string[]): Words {
  const said = new Map<Failure, string>()
  if (failures.every(({ words }) => words === undefined)) return said
  const sources = [...promptTexts(chat.messages, NO_OTHERS), ...answered]
  const fields = [...textsIn([chat.forwarded, [...chat.extras.values()]])]
  for (const failure of failures) {
    const words = failure.words && withoutQuotations(failure.words, sources, COMPARED_CHARS_MAX, fields)
    if (words) said.set(failure, oneLine(words))
  }
  return said
}

const NO_OTHERS = {}

// The texts of tools, schemas and other fields: what the caller has named and written, not the words of their format.
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  if (typeof value !== 'object' || value === null) return
  for (const [name, of] of Object.entries(value)) {
    if (name === 'type') continue
    if (!Array.isArray(value) && !FORMAT_WORDS.has(name)) yield name
    yield* textsIn(of)
  }
}

// A provider's message may name them.
const FORMAT_WORDS: ReadonlySet<string> = new Set(
  `additionalProperties allOf anyOf arguments const content default definitions dependentRequired description enum
   exclusiveMaximum exclusiveMinimum format frequency_penalty function functions items json_schema logit_bias maximum
   maxItems maxLength max_completion_tokens max_tokens metadata minimum minItems minLength name oneOf parallel_tool_calls
   parameters pattern patternProperties prediction presence_penalty properties reasoning_effort required response_format
   schema seed service_tier stop strict temperature title tool_choice tools top_logprobs top_p unevaluatedProperties
   uniqueItems verbosity`.split(/\s+/),
)

// The caller's message may be a provider's, which may quote the prompt.
function decisiveWords({ code }: Refusal, failures: readonly Failure[], said: Words): string | undefined {
  const rejected = failures.find(({ kind }) => kind === 'rejected')
  if (code === 'upstream_rejected' && rejected !== undefined) return said.get(rejected) ?? rejected.message
  const last = failures.findLast(failure => said.has(failure))
  return last === undefined ? undefined : said.get(last)
}

// In the order of the attempts: those that failed, each with its status and its provider's words, or ours for want of them.
function attemptsOf({ answer, failure }: Delivery, said: Words): readonly object[] {
  const failures = answer.failures.values()
  return answer.attempts.flatMap(({ provider, model, outcome, status }) => {
    if (outcome === 'client_left') return []
    const failed = outcome === 'answered' ? failure : failures.next().value
    return failed === undefined
      ? []
      : [{ provider, model, status: failed.status ?? status, error: said.get(failed) ?? oneLine(failed.message) }]
  })
}
