// The HTTP client of the gateway, which turns errors into plain messages. Tokens and keys come from the environment or from
// stdin, never from arguments, which every user of the machine can see.
import { loadClientConfig } from '../config/command-env.ts'
import { BadUsage, Failed, type Input, lineFromStdin, type Option } from './command.ts'

export type Json = Readonly<Record<string, unknown>>

export type Client = {
  // '/keys' means '/admin/v1/keys'.
  call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: Json,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Json>
  // Streams the bytes of a long response.
  stream(path: string, accept: string): AsyncIterable<Uint8Array>
}

export const CLIENT_OPTIONS: Readonly<Record<string, Option>> = {
  'token-stdin': { about: 'read the admin token from stdin instead of TURNPIKE_ADMIN_TOKEN' },
}

export const CLIENT_HELP = 'Connects to TURNPIKE_URL (default http://127.0.0.1:8080).'

const TIMEOUT_MS = 30_000
// Between two chunks of a streamed response.
const IDLE_MS = 120_000
const TOKEN_CHARS_MAX = 1024

export async function openClient(input: Input): Promise<Client> {
  const { url, adminToken } = loadClientConfig()
  const token = input.flag('token-stdin') ? await tokenFromStdin() : adminToken
  if (token === undefined) throw new BadUsage('set TURNPIKE_ADMIN_TOKEN, or pass the token on stdin with --token-stdin')
  const refused = 'invalid admin token'
  const authorization = { authorization: `Bearer ${token}` }

  return {
    async call(method, path, body, headers = {}) {
      const response = await send(`${url}/admin/v1${path}`, {
        method,
        headers: {
          ...authorization,
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
      yield* streamed(`${url}/admin/v1${path}`, { headers: { ...authorization, accept } }, refused)
    },
  }
}

// Calls /v1 with an API key and streams the response, headers first.
export async function* callWithKey(path: string, key: string, body?: Json): AsyncGenerator<Headers | Uint8Array> {
  const { url } = loadClientConfig()
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const init = {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, ...type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  yield* streamed(`${url}/v1${path}`, init, 'invalid API key', true)
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
  const timer = setTimeout(() => silence.abort(), IDLE_MS)
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
    throw new Failed(`the response was interrupted: ${(error as Error).message}`, true)
  } finally {
    clearTimeout(timer)
  }
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    // A redirect would send the token to another host.
    return await fetch(url, { ...init, redirect: 'error' })
  } catch (error) {
    const origin = new URL(url).origin
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    if (cause?.code === 'ECONNREFUSED') throw new Failed(`connection refused at ${origin}; is the gateway running?`)
    if (['TimeoutError', 'AbortError'].includes((error as Error).name)) {
      throw new Failed(`${origin} did not respond in time`, true)
    }
    throw new Failed(`${origin} cannot be reached: ${cause?.code ?? cause?.message ?? (error as Error).message}`, true)
  }
}

async function readAnswer(response: Response, url: string, refused: string): Promise<Json> {
  if (response.status === 204) return {}
  const answer = parse(await response.text())
  if (answer === undefined)
    throw new Failed(`${url} does not look like Turnpike (status ${response.status}, not JSON)`, true)
  if (response.ok) return answer
  const error = answer.error as { message?: unknown; param?: unknown } | undefined
  const text = `${error?.message ?? `status ${response.status}`}`
  if (response.status === 401) throw new Failed(refused)
  const isNamed = typeof error?.param !== 'string' || text.startsWith(error.param)
  const message = isNamed ? text : `${error.param}: ${text}`
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
  if (!/^[\x21-\x7e]+$/.test(token)) throw new BadUsage('no admin token on stdin')
  return token
}
