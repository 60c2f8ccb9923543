// The only place that opens sockets outward. Bounded in time and size, never follows a redirect, asks for no encoding,
// and turns everything that can go wrong on a wire into a Failure.
import { type Dispatcher, Pool } from 'undici'
import type { Timeouts } from '../domain/catalog.ts'
import { Failure, type FailureKind } from '../domain/failure.ts'

export type Outward = {
  send(request: OutwardRequest, handler: OutwardHandler): OutwardFlow
  close(): Promise<void>
}

export type OutwardRequest = {
  readonly path: string
  readonly headers: readonly string[]
  readonly body: string
  readonly firstByteMs: number
  readonly totalMs: number
  onSent(): void
}

export type OutwardHandler = {
  start(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void
  data(chunk: Buffer): void
  // Once, last; never after `abort`.
  end(failure: Failure | undefined): void
}

export type OutwardFlow = { pause(): void; resume(): void; abort(): void }

export function outward(origin: string, timeouts: Timeouts): Outward {
  const pool = new Pool(origin, {
    connections: 4096,
    pipelining: 1,
    connect: { timeout: timeouts.connectMs },
    keepAliveTimeout: 20_000,
    keepAliveMaxTimeout: 120_000,
    maxHeaderSize: 32_768,
  })
  return {
    send: (request, handler) => send(pool, request, handler, timeouts),
    close: () => pool.destroy(),
  }
}

function send(pool: Pool, request: OutwardRequest, handler: OutwardHandler, timeouts: Timeouts): OutwardFlow {
  let controller: Dispatcher.DispatchController | undefined
  let over = false
  let paused = false

  const finish = (failure: Failure | undefined) => {
    if (over) return
    over = true
    clearTimeout(total)
    handler.end(failure)
  }
  const drop = () => controller?.abort(new Error('the call was ended by us'))
  const total = setTimeout(() => {
    finish(new Failure('timeout', `no end after ${Math.round(request.totalMs)} ms`))
    drop()
  }, request.totalMs)
  total.unref()

  pool.dispatch(
    {
      method: 'POST',
      path: request.path,
      headers: request.headers as string[],
      body: request.body,
      headersTimeout: request.firstByteMs,
      bodyTimeout: timeouts.idleMs,
    },
    {
      onRequestStart(started) {
        controller = started
        if (over) return drop()
        request.onSent()
        if (paused) started.pause()
      },
      onResponseStart(_, status, headers) {
        if (!over && status >= 200) handler.start(status, headers)
      },
      onResponseData(_, chunk) {
        if (!over) handler.data(chunk)
      },
      onResponseEnd() {
        finish(undefined)
      },
      onResponseError(_, error) {
        finish(failureOf(error))
      },
    },
  )

  return {
    pause() {
      paused = true
      controller?.pause()
    },
    resume() {
      paused = false
      controller?.resume()
    },
    abort() {
      over = true
      clearTimeout(total)
      drop()
    },
  }
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EADDRNOTAVAIL: 'refused',
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  UND_ERR_SOCKET: 'reset',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_HEADERS_OVERFLOW: 'oversize',
  UND_ERR_RESPONSE_EXCEEDED_MAX_SIZE: 'oversize',
}

function failureOf(error: Error): Failure {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return failureOf(error.errors[0])
  const code = (error as { code?: unknown }).code
  if (typeof code === 'string') {
    const kind =
      KINDS[code] ?? (/CERT|TLS|SSL|ALTNAME/.test(code) ? 'tls' : code.startsWith('HPE_') ? 'nonsense' : 'reset')
    return new Failure(kind, `${code}: ${error.message}`)
  }
  return new Failure('reset', error.message)
}
