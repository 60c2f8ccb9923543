// OpenAI's chat completions as a stream: `data: {chat.completion.chunk}` frames, then `[DONE]`.
import type { Chunk, ChunkChoice, Receipt } from '../../domain/handoff.ts'
import { errorBody, type Refusal } from '../../domain/refusal.ts'
import type { ServedBy } from '../../relay/sink.ts'
import type { OpenedAnswer, StreamWriter } from '../dialect.ts'
import { metadataJson, OUR_FINGERPRINT, usageJson } from './json.ts'

const DONE = 'data: [DONE]\n\n'

export function chatStream(opened: OpenedAnswer): StreamWriter {
  const { includeUsage } = opened.chat
  const frames = openFrames(opened, includeUsage)
  return {
    served: by => frameAs(frames, by),
    chunks(chunks) {
      let text = ''
      for (const chunk of chunks) if (chunk.choices.length > 0) text += chunkFrame(frames, chunk)
      return text
    },
    // A comment.
    keepAlive: ': keep-alive\n',
    completed: receipt => (includeUsage ? usageFrame(frames, receipt) : '') + DONE,
    failed(refusal, receipt) {
      const usage = includeUsage && receipt !== undefined ? usageFrame(frames, receipt) : ''
      return errorFrame(frames, refusal) + usage + DONE
    },
  }
}

// What the frames of one stream have in common, and what the first of them alone contains.
type Frames = {
  readonly requestId: string
  readonly opening: string
  readonly model: string
  head: string
  readonly tail: string
  fingerprint: string
  by: ServedBy | undefined
  explain: boolean
  // The choices whose role has been sent.
  readonly spoken: Set<number>
}

function openFrames({ requestId, receivedAt, model, explain }: OpenedAnswer, includeUsage: boolean): Frames {
  const opening = `data: {"id":"chatcmpl-${requestId}","object":"chat.completion.chunk","created":${Math.floor(receivedAt / 1000)},"model":`
  return {
    requestId,
    opening,
    model,
    head: headFor(opening, model),
    tail: includeUsage ? ',"usage":null}\n\n' : '}\n\n',
    fingerprint: JSON.stringify(OUR_FINGERPRINT),
    by: undefined,
    explain,
    spoken: new Set(),
  }
}

function headFor(opening: string, model: string): string {
  return `${opening}${JSON.stringify(model)},"system_fingerprint":`
}

function frameAs(frames: Frames, by: ServedBy): void {
  frames.by = by
  if (by.model !== frames.model) frames.head = headFor(frames.opening, by.model)
}

function chunkFrame(frames: Frames, chunk: Chunk): string {
  if (chunk.fingerprint !== undefined) frames.fingerprint = JSON.stringify(chunk.fingerprint)
  for (const choice of chunk.choices) if (!frames.spoken.has(choice.index)) giveRole(frames, choice)
  return `${frames.head}${frames.fingerprint},"choices":${JSON.stringify(chunk.choices)}${explained(frames)}${frames.tail}`
}

// The first delta of each choice has the role, whether the upstream sent it or not.
function giveRole({ spoken }: Frames, choice: ChunkChoice): void {
  spoken.add(choice.index)
  if (choice.delta.role !== 'assistant') choice.delta = { ...choice.delta, role: 'assistant' }
}

// On the first chunk alone.
function explained(frames: Frames): string {
  if (!frames.explain || frames.by === undefined) return ''
  frames.explain = false
  return `,${metadataJson(frames.by)}`
}

function errorFrame({ requestId, head, fingerprint, tail }: Frames, refusal: Refusal): string {
  const { error } = errorBody(refusal, requestId)
  const choices = '[{"index":0,"delta":{},"logprobs":null,"finish_reason":"error"}]'
  return `${head}${fingerprint},"choices":${choices},"error":${JSON.stringify(error)}${tail}`
}

function usageFrame({ head, fingerprint }: Frames, receipt: Receipt): string {
  return `${head}${fingerprint},"choices":[],"usage":${usageJson(receipt)}}\n\n`
}
