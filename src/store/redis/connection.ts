// A Redis connection that reconnects forever. Nothing is queued and no command waits for long: it is answered in time, or it has
// failed; after a few failures in a row, or a broken connection, Redis is unavailable, every command fails at once, and a new
// connection is tried in the background. See docs/decisions/redis-limits.md.

// The commands used on a new connection.
export type RedisClient = {
  sendCommand(args: string[]): Promise<unknown>
  subscribe(channel: string, listener: (message: string) => void): Promise<void>
}

export type RedisLink = {
  isUp(): boolean
  // Rejects when there is no answer in time, at once while Redis is unavailable.
  send(args: readonly string[]): Promise<unknown>
  close(): void
}

export type LinkBounds = {
  readonly redisCommandMsMax: number
  readonly redisConnectMsMax: number
  readonly redisFailuresInARowMax: number
  readonly redisRetryMsMin: number
  readonly redisRetryMsMax: number
  readonly redisPingEveryMs: number
  readonly redisCommandsWaitingMax: number
}

export type LinkNeeds = {
  readonly url: string
  readonly bounds: LinkBounds
  readonly random: () => number
  // What a new connection must be able to do before it is used.
  begin(client: RedisClient): Promise<unknown>
  // Called once each, when it becomes unavailable and when it is available again.
  onUnavailable(why: string): void
  onBack(): void
}

// Resolves after the first try, whatever its result: an unavailable Redis does not prevent a start.
export async function openRedisLink(needs: LinkNeeds): Promise<RedisLink> {
  const { bounds } = needs
  // Loaded only where Redis is used.
  const { createClient } = await import('@redis/client')
  const newClient = () =>
    createClient({
      url: needs.url,
      RESP: 2,
      disableOfflineQueue: true,
      disableClientInfo: true,
      commandsQueueMaxLength: bounds.redisCommandsWaitingMax,
      // The client's own timeout ends when a command is written; ours when it is answered.
      commandOptions: { timeout: 0 },
      socket: { connectTimeout: bounds.redisConnectMsMax, reconnectStrategy: false },
    })
  type Client = ReturnType<typeof newClient>
  let client: Client | undefined
  let isUnavailable = false
  let isClosed = false
  let failures = 0
  let tries = 0
  let retry: NodeJS.Timeout | undefined
  const pings = setInterval(ping, bounds.redisPingEveryMs).unref()
  await connect()

  async function connect(): Promise<void> {
    const next = newClient()
    // Without a listener a connection error would end the process.
    next.on('error', (error: unknown) => lose(next, error))
    try {
      await within(bounds.redisConnectMsMax, next.connect())
      // After an outage, a connection must first respond within the time limit.
      await within(isUnavailable ? bounds.redisCommandMsMax : bounds.redisConnectMsMax, needs.begin(next))
    } catch (error) {
      next.destroy()
      return unavailable(error)
    }
    if (isClosed) return next.destroy()
    // It may have been lost again in the meantime.
    if (!next.isReady) return unavailable(new Error('the connection was closed'))
    client = next
    failures = 0
    if (isUnavailable) needs.onBack()
    isUnavailable = false
  }

  function lose(which: Client, error: unknown): void {
    if (which !== client) return
    client = undefined
    which.destroy()
    unavailable(error)
  }

  // With jitter, so that a recovering Redis does not meet all nodes at once.
  function unavailable(error: unknown): void {
    if (isClosed) return
    if (!isUnavailable) needs.onUnavailable(reasonOf(error))
    isUnavailable = true
    const ms = Math.min(bounds.redisRetryMsMax, bounds.redisRetryMsMin * 2 ** Math.min(tries++, 16))
    retry = setTimeout(connect, ms * (0.5 + needs.random() / 2)).unref()
  }

  async function send(args: readonly string[]): Promise<unknown> {
    const now = client
    if (now === undefined) throw new Error('Redis is unavailable')
    try {
      const answer = await within(bounds.redisCommandMsMax, now.sendCommand(args as string[]))
      failures = 0
      return answer
    } catch (error) {
      // An error reply about an unknown script is still a reply.
      if (!isUnknownScript(error) && now === client && ++failures >= bounds.redisFailuresInARowMax) lose(now, error)
      throw error
    }
  }

  // A connection that was healthy for a while is retried soon when it fails.
  function ping(): void {
    if (client === undefined) return
    send(['PING']).then(
      () => {
        tries = 0
      },
      () => undefined,
    )
  }

  return {
    isUp: () => client !== undefined,
    send,
    close() {
      isClosed = true
      clearInterval(pings)
      clearTimeout(retry)
      client?.destroy()
      client = undefined
    },
  }
}

export function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    // An answer that arrived while this process was busy is in the socket, and is read before the timeout applies.
    const late = () => setImmediate(reject, new Error(`no response within ${ms} ms`))
    const timer = setTimeout(late, ms)
    work.then(
      answer => {
        clearTimeout(timer)
        resolve(answer)
      },
      error => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}

// For the log. An error for several addresses has no message of its own.
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
