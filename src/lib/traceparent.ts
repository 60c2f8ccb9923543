// The `traceparent` header of W3C Trace Context.

export type TraceParent = { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean }

const FORM = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/
const LENGTH = 55
const ZEROS = /^0+$/

// Undefined for anything that is not valid, which must be ignored. Later versions may have more fields.
export function readTraceparent(header: unknown): TraceParent | undefined {
  if (typeof header !== 'string' || header.length < LENGTH) return undefined
  const [, version, traceId = '', spanId = '', flags = ''] = FORM.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && header.length !== LENGTH)) return undefined
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

export function writeTraceparent({ traceId, spanId, isSampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}
