// One exchange with an endpoint: a POST within one deadline, no redirects, public addresses only unless private ones are allowed,
// and a bounded part of the answer. Only its status counts.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Failure } from '../domain/failure.ts'
import type { Clock } from '../lib/clock.ts'
import type { ConnectionLimit } from '../upstream/connection-limit.ts'
import { type HttpClient, headerLines } from '../upstream/http-client.ts'
import { type Network, openClient } from '../upstream/open-client.ts'

export type SendNeeds = {
  readonly clock: Clock
  readonly network: Network
  readonly limit: ConnectionLimit
  readonly allowPrivate: boolean
  readonly userAgent: string
  readonly bounds: {
    readonly webhookTimeoutMs: number
    readonly webhookAnswerBytesMax: number
    readonly webhookRetryAfterMsMax: number
  }
  readonly onBug: (error: unknown) => void
}

export type Outcome = {
  readonly status: number | null
  // Null: delivered.
  readonly error: string | null
  readonly durationMs: number
  // How long the endpoint asks to wait.
  readonly retryAfterMs: number
  // We have ended it ourselves: nothing is known.
  readonly isAborted: boolean
}

export type Endpoint = {
  post(request: {
    readonly id: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }): Promise<Outcome>
  // Ends an exchange under way.
  close(): Promise<void>
}

// A connection rests for a moment before it is used again, so that a fast endpoint has more than one.
const CONNECTIONS_MAX = 4
// A connection that the endpoint has closed meanwhile says nothing about it.
const STALE_MAX = 3
// All of them rest, or the process has no more.
const BUSY_PAUSE_MS = 3

// Connections are kept for as long as it is open.
export function openEndpoint(address: string, needs: SendNeeds): Endpoint {
  const url = new URL(address)
  const { clock, limit, onBug, network, bounds } = needs
  const { webhookTimeoutMs: ms } = bounds
  const timeouts = { connectMs: ms, firstByteStreamMs: ms, firstByteJsonMs: ms, idleMs: ms, totalMs: ms }
  const client = openClient(
    { proxy: undefined, proxyCredentials: undefined, publicOnly: !needs.allowPrivate, timeouts },
    {
      url: new URL(url.origin),
      headers: { 'content-type': 'application/json', 'user-agent': needs.userAgent },
      connectionsMax: CONNECTIONS_MAX,
      limit,
      clock,
      onBug,
    },
    network,
  )
  const aborts = new Set<() => void>()

  return {
    async post({ id, headers, body }) {
      const startedMs = clock.monotonic()
      const request = { id, path: `${url.pathname}${url.search}`, head: headerLines(headers), body }
      for (let stale = 0; ; ) {
        const { again, ...outcome } = await exchange(client, request, needs, { startedMs, aborts })
        if (again === 'stale') stale += 1
        const tookMs = Math.round(clock.monotonic() - startedMs)
        if (again === undefined || stale === STALE_MAX || tookMs >= ms) return { ...outcome, durationMs: tookMs }
        if (again === 'busy') await sleep(BUSY_PAUSE_MS)
      }
    },
    async close() {
      for (const abort of aborts) abort()
      await client.close()
    },
  }
}

type Request = { readonly id: string; readonly path: string; readonly head: string; readonly body: string }
// `again`: nothing was sent for a reason of our own.
type Ended = Omit<Outcome, 'durationMs'> & { readonly again: 'stale' | 'busy' | undefined }

function exchange(
  client: HttpClient,
  { id, path, head, body }: Request,
  { bounds, clock }: SendNeeds,
  { startedMs, aborts }: { readonly startedMs: number; readonly aborts: Set<() => void> },
): Promise<Ended> {
  const leftMs = Math.max(bounds.webhookTimeoutMs - (clock.monotonic() - startedMs), 1)
  return new Promise(resolve => {
    let status: number | null = null
    let retryAfterMs = 0
    let bytes = 0
    let isOver = false

    function over(error: string | null, more: Partial<Ended> = {}): void {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      aborts.delete(abort)
      stream.abort()
      resolve({ status, error, retryAfterMs, isAborted: false, again: undefined, ...more })
    }
    const byStatus = () => over(errorOfStatus(status ?? 0))
    const abort = () => over('ended by a shutdown', { isAborted: true })
    const timer = setTimeout(() => over(`no complete answer within ${bounds.webhookTimeoutMs} ms`), leftMs)
    aborts.add(abort)
    const stream = client.send(
      { requestId: id, accountId: '', path, head, body, firstByteMs: leftMs, totalMs: leftMs, onSent: () => undefined },
      {
        start(received, headers) {
          status = received
          retryAfterMs = readRetryAfter(headers.get('retry-after'), bounds.webhookRetryAfterMsMax)
        },
        data(chunk) {
          bytes += chunk.length
          if (bytes > bounds.webhookAnswerBytesMax) byStatus()
        },
        end(failure) {
          if (isOver) return
          if (failure === undefined) byStatus()
          else over(wordsOfFailure(failure), { again: failure.stale ? 'stale' : failure.ours ? 'busy' : undefined })
        },
      },
    )
  })
}

function errorOfStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? `status ${status}: redirects are not followed` : `status ${status}`
}

const WORDS_MAX = 200

function wordsOfFailure({ kind, message }: Failure): string {
  return `${kind.replaceAll('_', ' ')}: ${message}`.slice(0, WORDS_MAX)
}

// In seconds; a date is ignored.
function readRetryAfter(value: string | undefined, maxMs: number): number {
  return value !== undefined && /^\d{1,9}$/.test(value) ? Math.min(Number(value) * 1000, maxMs) : 0
}
