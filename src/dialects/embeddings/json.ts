// OpenAI's list of embeddings as one JSON object. The vectors arrive written, in the caller's encoding, and are not copied.
import { formatCredits } from '../../domain/credits.ts'
import type { Receipt } from '../../domain/handoff.ts'
import { metadataJson } from '../chat/json.ts'
import type { OpenedAnswer, WholeWriter } from '../dialect.ts'

export function embeddingsWhole({ explain }: OpenedAnswer): WholeWriter {
  let data: readonly Uint8Array[] | undefined
  return {
    whole({ embeddings }) {
      data = embeddings
    },
    body(by, receipt) {
      if (data === undefined) return undefined
      const before = '{"object":"list","data":'
      const metadata = explain ? `,${metadataJson(by)}` : ''
      const after = `,"model":${JSON.stringify(by.model)},"usage":${usageJson(receipt)}${metadata}}`
      return [Buffer.from(before), ...data, Buffer.from(after)]
    },
  }
}

function usageJson({ tokens, cost }: Receipt): string {
  return `{"prompt_tokens":${tokens.prompt},"total_tokens":${tokens.prompt},"cost":${formatCredits(cost)}}`
}
