// A customer at the portal: uses a link as a browser would and calls the portal's API with its cookie and CSRF token.
import assert from 'node:assert/strict'
import type { Gateway } from './gateway.ts'
import { type Answer, httpCall, type Loose } from './http-call.ts'

export type PortalCustomer = {
  readonly cookie: string
  readonly csrf: string
  readonly session: Loose
  call<Body = Loose>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer<Body>>
}

export async function portalLink(gateway: Gateway, accountId: string, body: object = {}): Promise<string> {
  const made = await gateway.admin<{ url: string }>('POST', `/accounts/${accountId}/portal-sessions`, body)
  assert.equal(made.status, 201, made.text)
  return made.body.url
}

export async function enterPortal(gateway: Gateway, accountId: string, body: object = {}): Promise<PortalCustomer> {
  const opened = await httpCall(await portalLink(gateway, accountId, body))
  assert.deepEqual([opened.status, opened.headers.location], [303, '/portal'], opened.text)
  return customerOf(gateway, cookieOf(opened))
}

export async function customerOf(gateway: Gateway, cookie: string): Promise<PortalCustomer> {
  const { body: session } = await httpCall(`${gateway.url}/portal/v1/session`, { headers: { cookie } })
  const csrf = String(session.csrf_token)
  return {
    cookie,
    csrf,
    session,
    call: (method, path, body, headers = {}) =>
      httpCall(`${gateway.url}/portal/v1${path}`, {
        method,
        body,
        headers: { cookie, ...(method === 'GET' ? {} : { 'x-csrf-token': csrf }), ...headers },
      }),
  }
}

export function cookieOf({ headers }: Answer): string {
  const [cookie = ''] = headers['set-cookie'] ?? []
  return cookie.split(';', 1)[0] ?? ''
}
