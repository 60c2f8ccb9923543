// The start of an upstream's response, for every protocol: an error, whose message is collected within a bound, or an answer,
// unless its first lines show that it is something else.
import { Failure } from '../domain/failure.ts'
import type { ResponseHeaders } from './http-client.ts'
import type { UpstreamError } from './openai/error.ts'

const ERROR_BYTES_MAX = 65_536

// The error announced by a status other than 200, as its body arrives.
export type ErrorBody = {
  // False: more than will be read.
  take(chunk: Buffer): boolean
  whole(): UpstreamError
}

// Undefined for an answer.
export function errorBody(status: number, headers: ResponseHeaders): ErrorBody | undefined {
  if (status === 200) return undefined
  const pieces: Buffer[] = []
  let bytes = 0
  return {
    take(chunk) {
      bytes += chunk.length
      // The bytes are only valid during the call: copy them.
      pieces.push(Buffer.from(chunk))
      return bytes <= ERROR_BYTES_MAX
    },
    whole: () => ({
      status,
      retryAfter: headers.get('retry-after'),
      date: headers.get('date'),
      body: Buffer.concat(pieces).subarray(0, ERROR_BYTES_MAX),
    }),
  }
}

// Why what follows a 200 cannot be the expected answer. `stream` is the expected content type of a stream: some upstreams answer
// such a request with a JSON error and status 200.
export function unlikeAnswer(headers: ResponseHeaders, stream: RegExp | undefined): Failure | undefined {
  const encoding = headers.get('content-encoding')
  if (encoding !== undefined && encoding !== 'identity')
    return new Failure('invalid_response', 'the response has a content encoding although identity was requested', {
      status: 200,
    })
  if (stream !== undefined && !stream.test(headers.get('content-type') ?? ''))
    return new Failure('invalid_response', 'a stream was requested, but the response is not one', { status: 200 })
  return undefined
}
