// What a usage row keeps of a refusal: its code, its message as the caller got it, and its figures.
import type { Refusal } from './refusal.ts'
import { storable } from './usage.ts'

const ERROR_MESSAGE_MAX = 500
const PARAM_MAX = 256

export type RefusedFields = {
  readonly httpStatus: number
  readonly errorCode: string
  readonly errorMessage: string
  // JSON.
  readonly errorDetail: string | null
}

export function refusedFields(refusal: Refusal): RefusedFields {
  return {
    httpStatus: refusal.status,
    errorCode: refusal.code,
    errorMessage: oneLine(refusal.detail.stored ?? refusal.message),
    errorDetail: detailOf(refusal),
  }
}

// Of bounded length, without control characters and those that change the direction of what follows.
export function oneLine(text: string): string {
  return storable(text, ERROR_MESSAGE_MAX).replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ')
}

function detailOf({ detail: { param, metadata, retryAfter } }: Refusal): string | null {
  if (param === undefined && metadata === undefined && retryAfter === undefined) return null
  return JSON.stringify({
    ...(param === undefined ? {} : { param: storable(param, PARAM_MAX) }),
    ...metadata,
    ...(retryAfter === undefined ? {} : { retry_after: Math.ceil(retryAfter) }),
  })
}
