// The HTTP client of the gateway, which turns errors into plain messages. Tokens and keys come from the environment, a profile or
// stdin, never from arguments, which every user of the machine can see.
import { BadUsage, Failed, type Input } from './command.ts'
import { type Connection, connect } from './connection.ts'
import { bodyText, checkType, interrupted, type Json, parseObject, readAnswer } from './gateway-response.ts'

export type { Json } from './gateway-response.ts'

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

export const CLIENT_HELP =
  'The gateway is that of --url, --profile, TURNPIKE_URL or the profile in use (see "turnpike login"), by default http://127.0.0.1:8080.'

const TIMEOUT_MS = 30_000
const PROBE_MS = 5_000
// Between two chunks of a streamed response.
const IDLE_MS = 120_000

export async function openClient(input: Pick<Input, 'text' | 'flag'>): Promise<Client> {
  const connection = await connect(input)
  if (connection.token === undefined)
    throw new BadUsage(
      `no admin token for ${connection.url}; run "turnpike login", or set TURNPIKE_ADMIN_TOKEN, or pass it on stdin with --token-stdin`,
    )
  return clientOf({ ...connection, token: connection.token })
}

export function clientOf(connection: Connection & { readonly token: string }): Client {
  const { url, token, tokenFrom } = connection
  const refused = `invalid admin token for ${url} (from ${tokenFrom})`
  const authorization = { authorization: `Bearer ${token}` }

  return {
    async call(method, path, body, headers = {}) {
      const response = await send(connection, `/admin/v1${path}`, {
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
      const init = { headers: { ...authorization, accept } }
      for await (const piece of streamed(connection, `/admin/v1${path}`, init, refused)) {
        if (piece instanceof Headers) checkType(piece, accept, url)
        else yield piece
      }
    },
  }
}

// A request without a token, for probes: status, headers and JSON.
export async function probe(
  connection: Connection,
  path: string,
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: Json | undefined }> {
  const response = await send(connection, path, { signal: AbortSignal.timeout(PROBE_MS) })
  return {
    status: response.status,
    headers: response.headers,
    body: parseObject(await bodyText(response.body ?? [], connection.url)),
  }
}

// Calls /v1 with an API key and streams the response, headers first.
export async function* callWithKey(
  connection: Connection,
  path: string,
  key: string,
  body?: Json,
): AsyncGenerator<Headers | Uint8Array> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const init = {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, ...type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  yield* streamed(connection, `/v1${path}`, init, 'invalid API key')
}

// The same for an endpoint whose response is one JSON object.
export async function readWithKey(connection: Connection, path: string, key: string, body?: Json): Promise<Json> {
  const answer = parseObject(await bodyText(bytesOf(callWithKey(connection, path, key, body)), connection.url))
  if (answer === undefined) throw new Failed(`${connection.url} does not look like Turnpike (not JSON)`)
  return answer
}

async function* bytesOf(pieces: AsyncIterable<Headers | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) if (!(piece instanceof Headers)) yield piece
}

// Headers first.
async function* streamed(
  connection: Connection,
  path: string,
  init: RequestInit,
  refused: string,
): AsyncGenerator<Headers | Uint8Array> {
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), IDLE_MS)
  try {
    const response = await send(connection, path, { ...init, signal: silence.signal })
    if (!response.ok) await readAnswer(response, connection.url, refused)
    yield response.headers
    for await (const chunk of response.body ?? []) {
      timer.refresh()
      yield chunk
    }
  } catch (error) {
    throw interrupted(error)
  } finally {
    clearTimeout(timer)
  }
}

async function send({ url, urlFrom }: Connection, path: string, init: RequestInit): Promise<Response> {
  try {
    // A redirect would send the token to another host.
    return await fetch(`${url}${path}`, { ...init, redirect: 'error' })
  } catch (error) {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause
    const where = `${url} (from ${urlFrom})`
    if (cause?.code === 'ECONNREFUSED')
      throw new Failed(`connection refused at ${where}; check that the gateway is running and that the URL is right`)
    if (['TimeoutError', 'AbortError'].includes((error as Error).name))
      throw new Failed(
        `${where} did not respond in time; check that the URL is right and that no firewall blocks it`,
        true,
      )
    const why = CAUSES[cause?.code ?? cause?.message ?? ''] ?? cause?.message ?? cause?.code ?? (error as Error).message
    throw new Failed(`${where} cannot be reached: ${why}`, true)
  }
}

// In words, with what to do.
const CAUSES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no such host; check the URL',
  EAI_AGAIN: 'the host name cannot be resolved; check the URL and the network',
  EHOSTUNREACH: 'no route to the host; check the network',
  ENETUNREACH: 'no route to the network; check the network',
  ECONNRESET: 'the connection was closed; check whether the URL needs https://',
  UND_ERR_SOCKET: 'the connection was closed; check whether the URL needs https://',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time; check the URL and the network',
  ERR_SSL_WRONG_VERSION_NUMBER: 'this is no TLS server; try http:// instead of https://',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'this is no TLS server; try http:// instead of https://',
  'bad port': 'HTTP clients do not use this port; check the URL',
  'unexpected redirect':
    'it answers with a redirect, and tokens are not sent elsewhere; use the URL that it redirects to',
}
