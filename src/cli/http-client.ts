// A client of the gateway with readable errors. Tokens and keys come from the environment or from stdin, never from the command
// line, where every user of the machine could read them.
import { loadClientConfig } from '../config/config.ts'
import { BadUsage, Failed, type Input, type Option } from './command.ts'
import { lineFromStdin } from './stdin.ts'

export type Json = Readonly<Record<string, unknown>>

export type Client = {
  // '/keys' means '/admin/v1/keys'.
  call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: Json,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Json>
  // The bytes of a long answer as they arrive.
  stream(path: string, accept: string): AsyncIterable<Uint8Array>
}

export const CLIENT_OPTIONS: Readonly<Record<string, Option>> = {
  'token-stdin': { about: 'read the admin token from stdin instead of TURNPIKE_ADMIN_TOKEN' },
}

export const CLIENT_HELP = 'The gateway is found at TURNPIKE_URL (http://127.0.0.1:8080 unless set).'

const TIMEOUT_MS = 30_000
// Between two pieces of a streamed answer.
const SILENCE_MS = 120_000
const TOKEN_CHARS_MAX = 1024

export async function openClient(input: Input): Promise<Client> {
  const { url, adminToken } = loadClientConfig()
  const token = input.flag('token-stdin') ? await tokenFromStdin() : adminToken
  if (token === undefined) throw new BadUsage('set TURNPIKE_ADMIN_TOKEN, or give the token on stdin with --token-stdin')
  const refused = 'the admin token was not accepted'
  const bearing = { authorization: `Bearer ${token}` }

  return {
    async call(method, path, body, headers = {}) {
      const response = await send(`${url}/admin/v1${path}`, {
        method,
        headers: {
          ...bearing,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      return readAnswer(response, url, refused)
    },
    async *stream(path, accept) {
      yield* streamed(`${url}/admin/v1${path}`, { headers: { ...bearing, accept } }, refused)
    },
  }
}

// A call under /v1 with a key, read as it arrives; the headers first.
export async function* callWithKey(path: string, key: string, body?: Json): AsyncGenerator<Headers | Uint8Array> {
  const { url } = loadClientConfig()
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const init = {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, ...type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  yield* streamed(`${url}/v1${path}`, init, 'the key was not accepted', true)
}

function streamed(url: string, init: RequestInit, refused: string): AsyncGenerator<Uint8Array>
function streamed(
  url: string,
  init: RequestInit,
  refused: string,
  withHeaders: true,
): AsyncGenerator<Headers | Uint8Array>
async function* streamed(
  url: string,
  init: RequestInit,
  refused: string,
  withHeaders = false,
): AsyncGenerator<Headers | Uint8Array> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const response = await send(url, { ...init, signal: silence.signal })
    if (!response.ok) await readAnswer(response, new URL(url).origin, refused)
    if (withHeaders) yield response.headers
    for await (const chunk of response.body ?? []) {
      timer.refresh()
      yield chunk
    }
  } catch (error) {
    if (error instanceof Failed || error instanceof BadUsage) throw error
    throw new Failed(`the answer broke off: ${(error as Error).message}`, true)
  } finally {
    clearTimeout(timer)
  }
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    // A redirect would send the token elsewhere.
    return await fetch(url, { ...init, redirect: 'error' })
  } catch (error) {
    const origin = new URL(url).origin
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    if (cause?.code === 'ECONNREFUSED') throw new Failed(`nothing listens at ${origin}: is the gateway running?`)
    if (['TimeoutError', 'AbortError'].includes((error as Error).name)) {
      throw new Failed(`${origin} did not answer in time`, true)
    }
    throw new Failed(`${origin} cannot be reached: ${cause?.code ?? cause?.message ?? (error as Error).message}`, true)
  }
}

async function readAnswer(response: Response, url: string, refused: string): Promise<Json> {
  if (response.status === 204) return {}
  const answer = parse(await response.text())
  if (answer === undefined)
    throw new Failed(`${url} does not answer like Turnpike (status ${response.status}, no JSON)`, true)
  if (response.ok) return answer
  const error = answer.error as { message?: unknown; param?: unknown } | undefined
  const words = `${error?.message ?? `status ${response.status}`}`
  if (response.status === 401) throw new Failed(refused)
  const isNamed = typeof error?.param !== 'string' || words.startsWith(error.param)
  const message = isNamed ? words : `${error.param}: ${words}`
  if (response.status === 400) throw new BadUsage(message)
  throw new Failed(message, response.status >= 500)
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

async function tokenFromStdin(): Promise<string> {
  const token = await lineFromStdin(TOKEN_CHARS_MAX)
  if (!/^[\x21-\x7e]+$/.test(token)) throw new BadUsage('there is no admin token on stdin')
  return token
}
