// Reads the body of a chat request or a quote within its bounds, parses and validates it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseChat } from '../../chat/parse-request.ts'
import type { Chat } from '../../domain/chat.ts'
import type { CoarseTimers } from '../../lib/coarse-timers.ts'
import { LARGE_BODY_BYTES, parseJsonObject, requireJson } from '../json-body.ts'
import { readBody } from '../request.ts'
import type { RequestContext } from '../response.ts'

export type ChatBodyNeeds = {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly jsonDepthMax: number
  readonly timers: CoarseTimers
}

// A promise only if the body is one.
export function readChat(
  ctx: RequestContext,
  reserve: (bytes: number) => void,
  needs: ChatBodyNeeds,
): Chat | Promise<Chat> {
  requireJson(ctx.req)
  const bytes = readBody(ctx.req, ctx.res, {
    bytesMax: needs.bodyBytesMax,
    timeoutMs: needs.bodyTimeoutMs,
    timers: needs.timers,
    reserve,
  })
  if (bytes instanceof Promise) {
    return bytes.then(whole => (whole.length > LARGE_BODY_BYTES ? parseInTurns(whole, needs) : parse(whole, needs)))
  }
  return parse(bytes, needs)
}

function parse(whole: Buffer, { jsonDepthMax }: ChatBodyNeeds): Chat {
  return parseChat(parseJsonObject(whole, jsonDepthMax, 'kept'))
}

// Each step over megabytes has its own turn of the event loop, so that others are served in between.
async function parseInTurns(whole: Buffer, { jsonDepthMax }: ChatBodyNeeds): Promise<Chat> {
  await nextTurn()
  const body = parseJsonObject(whole, jsonDepthMax, 'kept')
  await nextTurn()
  const chat = parseChat(body)
  await nextTurn()
  return chat
}
