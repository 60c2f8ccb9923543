// Error responses for what never becomes a request: bytes that the HTTP parser rejects, connections beyond a bound.
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { errorBody, Refusal, type RefusalCode } from '../domain/refusal.ts'
import { STATUS_CODES } from '../lib/node-http.ts'
import type { Standing } from '../lib/token-bucket.ts'
import { addressFigures } from './rate-headers.ts'
import { isUnderV1 } from './request.ts'
import { refusalHeaders } from './response.ts'
import { ALWAYS } from './security-headers.ts'

export type BareNeeds = {
  readonly newRequestId: () => string
  readonly addressStanding: (socket: Socket) => Standing
  readonly headerPrefix: string
  readonly refusedBodyWaitMs: number
}

export function rejectBare(res: ServerResponse, code: RefusalCode, needs: BareNeeds): void {
  const { status, headers, body } = plainRefusal(code, res.socket, res.req.url, needs)
  res.writeHead(status, headers)
  res.end(body)
}

// Writes to the bare socket and ends it.
export function endBare(socket: Socket, code: RefusalCode, url: string | undefined, needs: BareNeeds): void {
  const { status, headers, body } = plainRefusal(code, socket, url, needs)
  const lines = []
  for (let i = 0; i < headers.length; i += 2) lines.push(`${headers[i]}: ${headers[i + 1]}`)
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
  // The remaining input is neither read nor waited for.
  socket.resume()
  setTimeout(() => socket.destroy(), needs.refusedBodyWaitMs).unref()
}

const TOO_MANY = { message: 'Too many open connections.', retryAfter: 1 }

const SECURITY = Object.entries(ALWAYS).flat()

// If even the path could not be parsed, nobody knows whether it was for a browser.
function plainRefusal(code: RefusalCode, socket: Socket | null, url: string | undefined, needs: BareNeeds) {
  const refusal = new Refusal(code, code === 'service_unavailable' ? TOO_MANY : {})
  const requestId = needs.newRequestId()
  const body = JSON.stringify(errorBody(refusal, requestId))
  const standing = socket === null ? { limit: 0, remaining: 0, resetSeconds: 0 } : needs.addressStanding(socket)
  const headers = [
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(Buffer.byteLength(body)),
    'Connection',
    'close',
    'X-Request-Id',
    requestId,
    `${needs.headerPrefix}Cost`,
    '0',
    ...refusalHeaders(refusal),
    ...addressFigures(standing),
    ...(isUnderV1(url ?? '') ? [] : SECURITY),
  ]
  return { status: refusal.status, headers, body }
}
