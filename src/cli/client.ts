// A client of the admin API: knows where the gateway is and how to say in plain words what went wrong. The token comes
// from the environment or from stdin, never from the command line, where every user of the machine could read it.
import { loadClientConfig } from '../config.ts'
import { BadUsage, Failed, type Input, type Option } from './command.ts'

export type Json = Readonly<Record<string, unknown>>

export type Client = {
  // '/keys' means '/admin/v1/keys'.
  call(
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: Json,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Json>
}

export const CLIENT_OPTIONS: Readonly<Record<string, Option>> = {
  'token-stdin': { about: 'read the admin token from stdin instead of TURNPIKE_ADMIN_TOKEN' },
}

export const CLIENT_HELP = 'The gateway is found at TURNPIKE_URL (http://127.0.0.1:8080 unless set).'

const TIMEOUT_MS = 30_000
const TOKEN_CHARS_MAX = 1024

export async function openClient(input: Input): Promise<Client> {
  const { url, adminToken } = loadClientConfig()
  const token = input.flag('token-stdin') ? await tokenFromStdin() : adminToken
  if (token === undefined) throw new BadUsage('set TURNPIKE_ADMIN_TOKEN, or give the token on stdin with --token-stdin')

  return {
    async call(method, path, body, headers = {}) {
      const response = await send(`${url}/admin/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        // A redirect would take the token elsewhere.
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      return readAnswer(response, url)
    },
  }
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init)
  } catch (error) {
    const origin = new URL(url).origin
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    if (cause?.code === 'ECONNREFUSED') throw new Failed(`nothing listens at ${origin}: is the gateway running?`)
    if ((error as Error).name === 'TimeoutError')
      throw new Failed(`${origin} did not answer within ${TIMEOUT_MS / 1000} s`, true)
    throw new Failed(`${origin} cannot be reached: ${cause?.code ?? cause?.message ?? (error as Error).message}`, true)
  }
}

async function readAnswer(response: Response, url: string): Promise<Json> {
  const answer = parse(await response.text())
  if (answer === undefined)
    throw new Failed(`${url} does not answer like Turnpike (status ${response.status}, no JSON)`, true)
  if (response.ok) return answer
  const error = answer.error as { message?: unknown; param?: unknown } | undefined
  const words = `${error?.message ?? `status ${response.status}`}`
  if (response.status === 401) throw new Failed('the admin token was not accepted')
  const isNamed = typeof error?.param !== 'string' || words.startsWith(error.param)
  const message = isNamed ? words : `${error.param}: ${words}`
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

export async function lineFromStdin(charsMax: number): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin) {
    text += String(chunk)
    if (text.includes('\n') || text.length > charsMax) break
  }
  return text.split('\n')[0]?.trim() ?? ''
}
