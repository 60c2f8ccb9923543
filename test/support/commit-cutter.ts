// A proxy in front of Postgres that can cut the connection at a COMMIT: before the server receives it, or when the
// server has committed and responds. It can also swallow everything, like a hanging server.
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout } from 'node:timers/promises'

export type CommitCutter = AsyncDisposable & {
  readonly url: string
  // The next COMMIT; resolves when it was cut.
  cutNext(where: 'before' | 'after'): Promise<void>
  hang(isHanging: boolean): void
  // New connections are accepted and reach the server only then.
  holdNew(until: Promise<void>): void
}

const COMMIT = 'COMMIT\0'

export async function commitCutter(postgresUrl: string): Promise<CommitCutter> {
  const behind = new URL(postgresUrl)
  const folder = behind.searchParams.get('host')
  const port = Number(behind.port || 5432)
  const reach = () => (folder === null ? connect(port, behind.hostname) : connect(`${folder}/.s.PGSQL.${port}`))
  const open = new Set<Socket>()
  let isHanging = false
  let held = Promise.resolve()
  let armed: { readonly where: 'before' | 'after'; readonly done: () => void } | undefined

  const server = createServer(async client => {
    client.on('error', () => {})
    await held
    const upstream = reach()
    let isDeaf = false
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    upstream.on('data', bytes => {
      if (isHanging) return
      if (!isDeaf) client.write(bytes)
      else client.destroy()
    })
    client.on('data', bytes => {
      if (isHanging) return
      const cut = armed !== undefined && bytes.toString('latin1').includes(COMMIT) ? armed : undefined
      if (cut !== undefined) armed = undefined
      if (cut?.where === 'before') client.destroy()
      else upstream.write(bytes)
      isDeaf ||= cut !== undefined
      cut?.done()
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))

  const url = new URL(postgresUrl)
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    cutNext: where => new Promise(done => (armed = { where, done })),
    hang(hangs) {
      isHanging = hangs
    },
    holdNew(until) {
      held = until
    },
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy()
      server.close()
      await setTimeout(0)
    },
  }
}
