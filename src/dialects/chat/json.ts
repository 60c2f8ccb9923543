// OpenAI's chat completion as one JSON object. Money is written as exact digits, never through a float.
import { formatCredits } from '../../domain/credits.ts'
import type { Receipt } from '../../domain/handoff.ts'
import type { Considered } from '../../domain/routing.ts'
import type { OpenedAnswer, WholeWriter } from '../dialect.ts'

export const OUR_FINGERPRINT = 'fp_turnpike'

export function chatWhole({ requestId, receivedAt, explain }: OpenedAnswer): WholeWriter {
  let answer: { readonly choices: string | readonly Uint8Array[]; readonly fingerprint: string } | undefined
  return {
    whole({ choices, written, fingerprint }) {
      const ours = JSON.stringify(fingerprint ?? OUR_FINGERPRINT)
      answer = { choices: written ?? JSON.stringify(choices), fingerprint: ours }
    },
    body(by, receipt) {
      if (answer === undefined) return undefined
      const before =
        `{"id":"chatcmpl-${requestId}","object":"chat.completion","created":${Math.floor(receivedAt / 1000)},` +
        `"model":${JSON.stringify(by.model)},"system_fingerprint":${answer.fingerprint},"choices":`
      const after = `,"usage":${usageJson(receipt)}${explain ? `,${metadataJson(by)}` : ''}}`
      const { choices } = answer
      return typeof choices === 'string'
        ? before + choices + after
        : [Buffer.from(before), ...choices, Buffer.from(after)]
    },
  }
}

export function usageJson({ tokens, cost }: Receipt): string {
  return (
    `{"prompt_tokens":${tokens.prompt},"completion_tokens":${tokens.completion},` +
    `"total_tokens":${tokens.prompt + tokens.completion},` +
    `"prompt_tokens_details":{"cached_tokens":${tokens.cached}${mediaJson(tokens)}},` +
    `"completion_tokens_details":{"reasoning_tokens":${tokens.reasoning}},"cost":${formatCredits(cost)}}`
  )
}

function mediaJson({ image, audio }: Receipt['tokens']): string {
  return (image === 0 ? '' : `,"image_tokens":${image}`) + (audio === 0 ? '' : `,"audio_tokens":${audio}`)
}

// The candidates in order, with reasons.
export function metadataJson({ considered }: { readonly considered: readonly Considered[] }): string {
  return `"metadata":${JSON.stringify({ candidates: considered })}`
}
