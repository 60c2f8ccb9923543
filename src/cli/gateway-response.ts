// What a gateway answers: JSON within bounds, errors as plain messages. What is not the answer of a gateway is refused: it may come
// from a proxy, a login page or another service.
import { guardText } from '../lib/json-guard.ts'
import { BadUsage, Failed } from './command.ts'

export type Json = Readonly<Record<string, unknown>>

// Of a response that is kept in memory.
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
// Each becomes an object in memory. A change of the prices of a whole catalog has 400,000.
const ANSWER_BOUNDS = { depthMax: 64, membersMax: 1_000_000 }

export async function readAnswer(response: Response, url: string, refused: string): Promise<Json> {
  // Every answer of a gateway has it.
  if (response.status === 204 && response.headers.has('x-request-id')) return {}
  const answer = parseObject(await bodyText(response.body ?? [], url))
  if (answer === undefined)
    throw new Failed(`${url} does not look like Turnpike (status ${response.status}, not JSON)`, true)
  if (response.ok && isOwn(answer)) return answer
  if (response.ok) throw new Failed(`${url} does not look like Turnpike (an unknown answer); check the URL`, true)
  const error = answer.error as { code?: unknown; message?: unknown; param?: unknown } | null | undefined
  // Every error of a gateway has one.
  if (typeof error?.code !== 'string')
    throw new Failed(`${url} does not look like Turnpike (status ${response.status})`, true)
  const text = typeof error.message === 'string' ? error.message : `status ${response.status}`
  if (response.status === 401) throw new Failed(refused, false, 401)
  const isNamed = typeof error.param !== 'string' || text.startsWith(error.param)
  const message = isNamed ? text : `${error.param}: ${text}`
  if (response.status === 400) throw new BadUsage(message)
  throw new Failed(message, response.status >= 500, response.status)
}

// An object says what it is; a list has objects. A link to the portal has nothing but its URL and its end.
function isOwn({ object, data, url, expires_at: end }: Json): boolean {
  if (typeof object !== 'string') return typeof url === 'string' && typeof end === 'string'
  return object !== 'list' || (Array.isArray(data) && data.every(isRecord))
}

// A login page must not end up in the file of an export.
export function checkType(headers: Headers, wanted: string, url: string): void {
  const type = headers.get('content-type') ?? 'none'
  if (type.split(';', 1)[0]?.trim().toLowerCase() === wanted) return
  throw new Failed(`${url} does not look like Turnpike (content type ${type.slice(0, 100)}); check the URL`, true)
}

export async function bodyText(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, url: string): Promise<string> {
  const kept: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of pieces) {
      bytes += piece.length
      if (bytes > ANSWER_BYTES_MAX)
        throw new Failed(`the response of ${url} is larger than ${ANSWER_BYTES_MAX} bytes`, true)
      kept.push(piece)
    }
  } catch (error) {
    throw interrupted(error)
  }
  return Buffer.concat(kept).toString('utf8')
}

export function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = guardText(text, ANSWER_BOUNDS) === 'ok' ? JSON.parse(text) : undefined
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function interrupted(error: unknown): Error {
  if (error instanceof Failed || error instanceof BadUsage) return error
  if (['TimeoutError', 'AbortError'].includes((error as Error).name))
    return new Failed('the response was not complete in time; check that the URL is that of a gateway', true)
  return new Failed(`the response was interrupted: ${(error as Error).message}`, true)
}
