// One call to the admin API: the session's cookie goes by itself, changes carry its CSRF token, and every refusal becomes a
// problem that says what happened.

import { reportResponse, reportUnreachable } from './connection.ts'
import { isUserIdle } from './user-activity.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | null
  readonly requestId: string | null
  // Tells refusals of the same code apart, where the server says more.
  readonly reason: string | undefined

  constructor(
    status: number,
    fields: { message: string; code: string; param: string | null; requestId: string | null; reason?: string },
  ) {
    super(fields.message)
    this.name = 'ApiError'
    this.status = status
    this.code = fields.code
    this.param = fields.param
    this.requestId = fields.requestId
    this.reason = fields.reason
  }
}

export type CallOptions = {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

let csrfToken = ''
let renewCsrf: () => Promise<boolean> = async () => false

export function setCsrfToken(token: string): void {
  csrfToken = token
}

// What gets a new token when another tab's login replaced ours.
export function onCsrfFailure(renew: () => Promise<boolean>): void {
  renewCsrf = renew
}

export async function call<T>(method: Method, path: string, options: CallOptions = {}): Promise<T> {
  try {
    return await attempt<T>(method, path, options)
  } catch (error) {
    const isStale = error instanceof ApiError && error.code === 'csrf_failed'
    if (!isStale || !(await renewCsrf())) throw error
    return attempt<T>(method, path, options)
  }
}

async function attempt<T>(method: Method, path: string, { body, headers, signal }: CallOptions): Promise<T> {
  const response = await reach(`/admin/v1${path}`, {
    method,
    credentials: 'same-origin',
    ...(signal === undefined ? {} : { signal }),
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(method === 'GET' ? (isUserIdle() ? { 'x-background': '1' } : {}) : { 'x-csrf-token': csrfToken }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw await errorOf(response)
  if (response.status === 204) return undefined as T
  return (await response.json()) as T
}

// A server that cannot be reached is told to the whole page, and so is its return.
async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init)
    reportResponse(response)
    return response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    reportUnreachable()
    throw new ApiError(0, {
      message: 'The server does not answer. It may be restarting.',
      code: 'unreachable',
      param: null,
      requestId: null,
    })
  }
}

type ErrorFields = {
  readonly message: string
  readonly code: string
  readonly param: string | null
  readonly metadata: { readonly reason?: string }
}

export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id')
  const said = (await response.json().catch(() => undefined)) as { readonly error?: Partial<ErrorFields> } | undefined
  const reason = said?.error?.metadata?.reason
  return new ApiError(response.status, {
    message: said?.error?.message ?? `The server answered ${response.status} ${response.statusText}.`,
    code: said?.error?.code ?? `http_${response.status}`,
    param: said?.error?.param ?? null,
    requestId,
    ...(reason === undefined ? {} : { reason }),
  })
}

// `?a=1&b=2` of what is given; what is empty or undefined is left out.
export function queryOf(fields: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

// A change that is based on what has been changed since is refused, and overwrites nothing.
export function ifMatch({ version }: { readonly version: number }): Readonly<Record<string, string>> {
  return { 'if-match': `"${version}"` }
}
