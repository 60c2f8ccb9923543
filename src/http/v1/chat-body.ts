// The body of a chat request, whether it is to be answered or only quoted: read within its bounds, parsed and checked.
import { type Chat, parseChat } from '../../domain/chat.ts'
import type { Alarms } from '../../lib/alarms.ts'
import { parseJsonObject, requireJson } from '../json-body.ts'
import type { Case } from '../reply.ts'
import { readBody } from '../request.ts'

export type ChatBodyNeeds = {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly jsonDepthMax: number
  readonly alarms: Alarms
}

// A promise only where the body is one.
export function readChat(it: Case, reserve: (bytes: number) => void, needs: ChatBodyNeeds): Chat | Promise<Chat> {
  requireJson(it.req)
  const bytes = readBody(it.req, it.res, {
    bytesMax: needs.bodyBytesMax,
    timeoutMs: needs.bodyTimeoutMs,
    alarms: needs.alarms,
    reserve,
  })
  const parse = (whole: Buffer) => parseChat(parseJsonObject(whole, needs.jsonDepthMax, 'kept'))
  return bytes instanceof Promise ? bytes.then(parse) : parse(bytes)
}
