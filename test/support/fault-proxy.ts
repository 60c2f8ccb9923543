// A small TCP proxy that misbehaves on command, to stand between the gateway and Postgres, Redis or an upstream.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setImmediate, setTimeout } from 'node:timers/promises'

// `blackhole` is a partition that may heal: bytes wait, nothing is lost. `reset` cuts every connection, old and new.
// `refuse` closes the listener too. `slowClose` delays the end of either side.
export type FaultMode =
  | { readonly kind: 'pass' }
  | { readonly kind: 'latency'; readonly ms: number }
  | { readonly kind: 'blackhole' }
  | { readonly kind: 'reset' }
  | { readonly kind: 'refuse' }
  | { readonly kind: 'slowClose'; readonly ms: number }
  | { readonly kind: 'slice'; readonly bytes: number; readonly delayMs?: number }

export type FaultProxy = {
  readonly port: number
  readonly mode: FaultMode
  readonly connections: number
  set(mode: FaultMode): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startFaultProxy(targetPort: number, first: FaultMode = { kind: 'pass' }): Promise<FaultProxy> {
  let mode = first
  let healed = Promise.withResolvers<void>()
  const sockets = new Set<Socket>()
  const weather: Weather = { mode: () => mode, healed: () => healed.promise }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, client => {
    track(client, sockets)
    if (mode.kind === 'reset' || mode.kind === 'refuse') client.resetAndDestroy()
    else void join(client, targetPort, sockets, weather)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  async function set(next: FaultMode): Promise<void> {
    mode = next
    if (next.kind !== 'blackhole') {
      healed.resolve()
      healed = Promise.withResolvers()
    }
    if (next.kind === 'reset' || next.kind === 'refuse') for (const socket of sockets) socket.resetAndDestroy()
    if (next.kind === 'refuse') await stopListening()
    else if (!server.listening) await once(server.listen(port, '127.0.0.1'), 'listening')
  }

  async function stopListening(): Promise<void> {
    if (!server.listening) return
    server.close()
    await once(server, 'close')
  }

  return {
    port,
    get mode() {
      return mode
    },
    get connections() {
      return sockets.size
    },
    set,
    async [Symbol.asyncDispose]() {
      // Otherwise a wait for the end of a blackhole would never end.
      mode = { kind: 'pass' }
      healed.resolve()
      for (const socket of sockets) socket.destroy()
      await stopListening()
    },
  }
}

type Weather = { mode(): FaultMode; healed(): Promise<void> }

async function join(client: Socket, targetPort: number, sockets: Set<Socket>, weather: Weather): Promise<void> {
  while (weather.mode().kind === 'blackhole') await weather.healed()
  if (client.destroyed) return
  const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  track(target, sockets)
  await Promise.all([pump(client, target, weather), pump(target, client, weather)])
}

// One direction. The mode is read again for every piece, so a change reaches connections that are already open.
async function pump(from: Socket, to: Socket, weather: Weather): Promise<void> {
  try {
    // Plain `for await` would destroy the socket at its end, and with it the other, half-open direction.
    const pieces = from.iterator({ destroyOnReturn: false })
    for await (const piece of pieces) await forward(piece as Buffer, to, weather)
    while (weather.mode().kind === 'blackhole') await weather.healed()
    const mode = weather.mode()
    if (mode.kind === 'slowClose') await setTimeout(mode.ms)
    to.end()
  } catch {
    to.destroy()
  }
}

async function forward(piece: Buffer, to: Socket, weather: Weather): Promise<void> {
  while (weather.mode().kind === 'blackhole') await weather.healed()
  const mode = weather.mode()
  if (mode.kind === 'latency') await setTimeout(mode.ms)
  const size = mode.kind === 'slice' ? mode.bytes : piece.length
  for (let at = 0; at < piece.length; at += size) {
    if (to.destroyed) throw new Error('the other side is closed')
    if (!to.write(piece.subarray(at, at + size))) await once(to, 'drain')
    if (mode.kind === 'slice') await (mode.delayMs === undefined ? setImmediate() : setTimeout(mode.delayMs))
  }
}

function track(socket: Socket, sockets: Set<Socket>): void {
  sockets.add(socket)
  socket.on('error', () => {})
  socket.once('close', () => sockets.delete(socket))
}
