// What goes wrong between us and an AI SDK package, as a Failure. Their errors hold the whole request and answer, so nothing
// of them reaches the log but a name, and the caller only what is the caller's to mend.
import { Failure } from '../../domain/failure.ts'
import type { SdkKind } from '../../domain/presets.ts'
import { failureOfError, failureOfStatus, type Unsaid, type UpstreamError } from '../openai/error.ts'

// Anything that a package threw, or that its stream reported.
export function failureOfSdk(error: unknown, unsaid: Unsaid): Failure {
  const known = failureWithin(error)
  if (known !== undefined) return known
  const { name, message, statusCode, type, code, responseBody } = fieldsOf(error)
  if (code === 'ERR_MODULE_NOT_FOUND') return new Failure('refused', "the wire's package is not installed")
  // The package has no way to say what the caller wants.
  if (CALLERS_DOING.has(name)) return failureOfError({ status: 400, message }, unsaid)
  if (CREDENTIALS.has(name)) return new Failure('credential', 'the credential cannot be used for this wire')
  // An error at the beginning of a stream, which the package takes for the status that should have been.
  if (typeof statusCode === 'number' && statusCode >= 400 && error instanceof Error)
    return failureOfStatus({ status: statusCode, body: Buffer.from(String(responseBody ?? '')) }, unsaid)
  // An error in the middle of a stream, which the package read for us.
  if (!(error instanceof Error)) return failureOfError({ status: statusCode, type, message }, unsaid)
  return new Failure('nonsense', `the upstream sent something else than an answer: ${name.slice(0, 64)}`, {
    status: 200,
  })
}

// Anything that was thrown while a chat was put into the vendor's words: nobody has been called, so that it is no vendor's
// doing. The packages take for granted what a caller need not keep to, and throw whatever comes of it.
export function failureOfSaying(error: unknown, unsaid: Unsaid): Failure {
  const failure = failureOfSdk(error, unsaid)
  if (failure.kind !== 'nonsense' && failure.kind !== 'status') return failure
  return new Failure('rejected', `the wire cannot say it: ${fieldsOf(error).name.slice(0, 64)}`, { words: UNSAYABLE })
}

const UNSAYABLE =
  "This request cannot be put into the words of this model's provider: messages, tools or response_format are malformed."

// An event that is JSON but not what the package knows: upstreams learn new ones, which must not break an answer. If it
// was one that mattered, the answer ends without a reason, and that is noticed.
export function isUnknownShape(error: unknown): boolean {
  return fieldsOf(error).name === 'AI_TypeValidationError'
}

// A status that is not 200. Google says of a wrong key that the request is wrong.
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

// The packages wrap what our wire threw, sometimes more than once.
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
