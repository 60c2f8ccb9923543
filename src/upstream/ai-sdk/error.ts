// Converts errors of an AI SDK package to a Failure. Their errors contain the whole request and answer, so only a name reaches
// the log, and the caller only gets what the caller can fix.
import { Failure } from '../../domain/failure.ts'
import type { SdkKind } from '../../domain/presets.ts'
import { failureOfError, failureOfStatus, type Unsaid, type UpstreamError } from '../openai/error.ts'

// Anything that a package threw, or that its stream reported.
export function failureOfSdk(error: unknown, unsaid: Unsaid): Failure {
  const known = failureWithin(error)
  if (known !== undefined) return known
  const { name, message, statusCode, type, code, responseBody } = fieldsOf(error)
  if (code === 'ERR_MODULE_NOT_FOUND') return new Failure('refused', 'the provider package is not installed')
  // The package does not support what the caller requested.
  if (CALLERS_DOING.has(name)) return failureOfError({ status: 400, message }, unsaid)
  if (CREDENTIALS.has(name)) return new Failure('credential', 'the credential is not valid for this kind of provider')
  // An error at the start of a stream, which the package treats as the status.
  if (typeof statusCode === 'number' && statusCode >= 400 && error instanceof Error)
    return failureOfStatus({ status: statusCode, body: Buffer.from(String(responseBody ?? '')) }, unsaid)
  // An error within a stream, as read by the package.
  if (!(error instanceof Error)) return failureOfError({ status: statusCode, type, message }, unsaid)
  return new Failure('invalid_response', `unexpected upstream response: ${name.slice(0, 64)}`, {
    status: 200,
  })
}

// An error thrown while a chat was translated to the vendor's format: nothing has been sent, so it is not the vendor's fault. The
// packages make assumptions that a caller need not meet, and throw arbitrary errors.
export function failureOfSaying(error: unknown, unsaid: Unsaid): Failure {
  const failure = failureOfSdk(error, unsaid)
  if (failure.kind !== 'invalid_response' && failure.kind !== 'status') return failure
  return new Failure('rejected', `the request cannot be converted: ${fieldsOf(error).name.slice(0, 64)}`, {
    words: UNSAYABLE,
  })
}

const UNSAYABLE =
  "The request cannot be converted for this model's provider: messages, tools or response_format are malformed."

// An event that is JSON but unknown to the package: upstreams add new ones, which must not break an answer. If it mattered, the
// answer ends without a finish reason, and that is noticed.
export function isUnknownShape(error: unknown): boolean {
  return fieldsOf(error).name === 'AI_TypeValidationError'
}

// A status other than 200. Google reports a wrong key as an invalid request.
export function failureOfSdkStatus(error: UpstreamError, kind: SdkKind, unsaid: Unsaid): Failure {
  const isGoogle = kind === 'google' || kind === 'vertex'
  const isKey = isGoogle && error.status === 400 && error.body.includes('API_KEY_INVALID')
  return failureOfStatus(isKey ? { ...error, status: 401 } : error, unsaid)
}

const CALLERS_DOING: ReadonlySet<string> = new Set([
  'AI_InvalidArgumentError',
  'AI_InvalidPromptError',
  'AI_UnsupportedFunctionalityError',
])
const CREDENTIALS: ReadonlySet<string> = new Set(['AI_LoadAPIKeyError', 'AI_LoadSettingError'])

// The packages wrap errors thrown by our fetch, sometimes more than once.
function failureWithin(error: unknown): Failure | undefined {
  let inner = error
  for (let depth = 0; depth < DEPTH_MAX && inner instanceof Error; depth++) {
    if (inner instanceof Failure) return inner
    inner = inner.cause
  }
  return undefined
}

const DEPTH_MAX = 8

type Fields = Readonly<Record<'message' | 'statusCode' | 'type' | 'code' | 'responseBody', unknown>> & {
  readonly name: string
}

function fieldsOf(error: unknown): Fields {
  const { name, message, statusCode, type, code, responseBody } = (error ?? {}) as Record<string, unknown>
  return { name: typeof name === 'string' ? name : 'unknown', message, statusCode, type, code, responseBody }
}
