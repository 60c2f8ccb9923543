// Reads the answer to a count of tokens: `{"input_tokens": n}`.
import { Failure } from '../../domain/failure.ts'
import type { ResponseHandler } from '../http-client.ts'
import { failureOfStatus, type Unsaid } from '../openai/error.ts'
import { invalidResponse, parse, record } from '../openai/response.ts'
import { type ErrorBody, errorBody } from '../response-head.ts'

const ANSWER_BYTES_MAX = 65_536

export function countReader(
  done: (counted: number | Failure) => void,
  abort: () => void,
  unsaid: Unsaid,
): ResponseHandler {
  let refused: ErrorBody | undefined
  const pieces: Buffer[] = []
  let bytes = 0
  let over = false

  function end(counted: number | Failure): void {
    if (over) return
    over = true
    done(counted)
  }

  return {
    start(status, headers) {
      refused = errorBody(status, headers)
    },
    data(chunk) {
      bytes += chunk.length
      if (over) return
      if (refused === undefined) pieces.push(Buffer.from(chunk))
      const fits = refused === undefined ? bytes <= ANSWER_BYTES_MAX : refused.take(chunk)
      if (fits) return
      abort()
      end(refused === undefined ? invalidResponse('the count is too long') : failureOfStatus(refused.whole(), unsaid))
    },
    end(failure) {
      if (refused !== undefined) end(failureOfStatus(refused.whole(), unsaid))
      else end(failure ?? countIn(Buffer.concat(pieces).toString()))
    },
  }
}

function countIn(text: string): number | Failure {
  try {
    const { input_tokens: tokens } = record(parse(text))
    return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : invalidResponse('no count')
  } catch (error) {
    return error instanceof Failure ? error : invalidResponse('no count')
  }
}
