// Sends one request to the API of the page, which is the admin API or the portal's: the browser adds the session cookie, changes carry the CSRF token, and every error
// response becomes an ApiError.

import { reportResponse, reportUnreachable } from './connection.ts'
import { isUserIdle } from './user-activity.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly param: string | null
  // Why a code was returned, where one code has several causes.
  readonly reason: string | null
  readonly requestId: string | null
  // Where a customer whose portal session has ended came from.
  readonly returnUrl: string | null

  constructor(status: number, fields: ErrorDetails) {
    super(fields.message)
    this.name = 'ApiError'
    this.status = status
    this.code = fields.code
    this.param = fields.param
    this.reason = fields.reason ?? null
    this.requestId = fields.requestId
    this.returnUrl = fields.returnUrl ?? null
  }
}

type ErrorDetails = {
  readonly message: string
  readonly code: string
  readonly param: string | null
  readonly reason?: string | null
  readonly requestId: string | null
  readonly returnUrl?: string | null
}

export type CallOptions = {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

let root = ''
let csrfToken = ''
let renewCsrf: () => Promise<boolean> = async () => false

// `/admin/v1`; called once, before the page is rendered.
export function setApiRoot(path: string): void {
  root = path
}

// For links that are not calls, such as downloads.
export function apiUrl(path: string): string {
  return root + path
}

export function setCsrfToken(token: string): void {
  csrfToken = token
}

// Renews the CSRF token after a sign-in in another tab has replaced the session.
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
  const response = await reach(apiUrl(path), {
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

// Reports to the connection bar whether the server can be reached.
async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, init)
    reportResponse(response)
    return response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    reportUnreachable()
    throw new ApiError(0, {
      message: 'The server cannot be reached. It may be restarting.',
      code: 'unreachable',
      param: null,
      requestId: null,
    })
  }
}

type ErrorFields = {
  readonly message?: string
  readonly code?: string
  readonly param?: string | null
  readonly metadata?: { readonly reason?: string; readonly return_url?: string | null }
}

export async function errorOf(response: Response): Promise<ApiError> {
  const requestId = response.headers.get('x-request-id')
  const parsed = (await response.json().catch(() => undefined)) as { readonly error?: ErrorFields } | undefined
  return new ApiError(response.status, {
    message: parsed?.error?.message ?? `The server returned ${response.status} ${response.statusText}.`,
    code: parsed?.error?.code ?? `http_${response.status}`,
    param: parsed?.error?.param ?? null,
    reason: parsed?.error?.metadata?.reason ?? null,
    returnUrl: parsed?.error?.metadata?.return_url ?? null,
    requestId,
  })
}

// Builds `?a=1&b=2&b=3`; empty and undefined values are left out.
export function queryOf(fields: Readonly<Record<string, string | number | readonly string[] | undefined>>): string {
  const given = Object.entries(fields).flatMap(([name, value]) =>
    [value ?? ''].flat().flatMap(each => (each === '' ? [] : [[name, String(each)]])),
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

// The server rejects the change with 409 if the version has changed.
export function ifMatch({ version }: { readonly version: number }): Readonly<Record<string, string>> {
  return { 'if-match': `"${version}"` }
}
