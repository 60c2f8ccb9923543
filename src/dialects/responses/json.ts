// A response of OpenAI's Responses API as one JSON object: passed through, or made from the answer of a chat.
import type { OpenedAnswer, WholeWriter } from '../dialect.ts'
import { nativeWriter } from './native.ts'
import { incompleteReason, logprobsOf, outputOf } from './output.ts'
import { ENCRYPTED } from './parse.ts'
import { responseWriter } from './response.ts'
import { namesOf } from './tools.ts'

export function responsesWhole(opened: OpenedAnswer): WholeWriter {
  const { requestId, chat } = opened
  const response = responseWriter(opened)
  const carries = carriesReasoning(chat)
  let answer: { readonly output: string; readonly incomplete: string | undefined } | undefined
  const passing = nativeWriter(opened)
  let passed: string | undefined
  return {
    whole(whole) {
      if (whole.native !== undefined) {
        passed = passing.open(whole.native)
        return
      }
      const choice = whole.choices[0]
      const incomplete = incompleteReason(choice?.finish_reason ?? null)
      const status = incomplete === undefined ? 'completed' : 'incomplete'
      const setup = { requestId, names: namesOf(chat), carries }
      const items = choice === undefined ? [] : outputOf(choice.message, logprobsOf(choice.logprobs), status, setup)
      answer = { output: JSON.stringify(items), incomplete }
    },
    body(by, receipt) {
      passing.served(by)
      if (passed !== undefined) return passing.close(passed, receipt)
      if (answer === undefined) return undefined
      response.served(by)
      const { output, incomplete } = answer
      const status = incomplete === undefined ? 'completed' : 'incomplete'
      return response.json({ status, output, incomplete, receipt })
    },
  }
}

// Whether the caller takes reasoning to send it back.
export function carriesReasoning({ native }: OpenedAnswer['chat']): boolean {
  return ((native?.include as readonly string[] | undefined) ?? []).includes(ENCRYPTED)
}
