// Bounds client connections: in total, so that descriptors are always left for upstreams and the store, and per address. Beyond a
// bound an idle connection is closed for a new one; if all are busy, the new one is refused. See docs/decisions/connections.md.
import type { Socket } from 'node:net'
import { addressBlock, type CidrSet, parseAddress } from '../lib/ip-address.ts'

export type Connections = {
  // Whether the connection may stay; it is removed when it closes. A listener for operators alone has a few additional slots.
  admit(socket: Socket, isIdle: IsIdle, reserve?: number): boolean
  readonly open: number
}

// Whether it is idle: no request, and no bytes of one.
export type IsIdle = (socket: Socket) => boolean

export type ConnectionNeeds = {
  readonly max: number
  readonly perAddressMax: number
  // One such address stands for many callers.
  readonly trustedProxies: CidrSet
  readonly onRefused: (bound: 'total' | 'address') => void
  readonly onEvicted: (bound: 'total' | 'address') => void
}

type Connection = { readonly socket: Socket; readonly isIdle: IsIdle }

// How many connections are examined to find an idle one.
const LOOKS_MAX = 64

// A client connection may need one to an upstream as well; the rest is for files, threads and the store.
export function connectionsMax(descriptors: number, bounds: { connectionsMax: number; descriptorsReserved: number }) {
  return Math.max(1, Math.min(bounds.connectionsMax, Math.floor((descriptors - bounds.descriptorsReserved) / 2)))
}

export function boundConnections(needs: ConnectionNeeds): Connections {
  // Oldest first, except for those that were found busy.
  const all = new Set<Connection>()
  const byAddress = new Map<string, Set<Connection>>()

  function admit(socket: Socket, isIdle: IsIdle, reserve = 0): boolean {
    const address = countedAddress(socket, needs.trustedProxies)
    const neighbours = address === undefined ? undefined : byAddress.get(address)
    if (neighbours !== undefined && neighbours.size >= needs.perAddressMax && !evictIdle(neighbours, 'address')) {
      return false
    }
    if (all.size >= needs.max + reserve && !evictIdle(all, 'total')) return false

    const connection = { socket, isIdle }
    all.add(connection)
    if (address === undefined) socket.once('close', () => all.delete(connection))
    else {
      join(address, connection)
      socket.once('close', () => {
        all.delete(connection)
        leave(address, connection)
      })
    }
    return true
  }

  function evictIdle(among: Set<Connection>, bound: 'total' | 'address'): boolean {
    const resting = findResting(among)
    if (resting === undefined) {
      needs.onRefused(bound)
      return false
    }
    needs.onEvicted(bound)
    resting.socket.destroy()
    return true
  }

  function join(address: string, connection: Connection): void {
    const neighbours = byAddress.get(address)
    if (neighbours === undefined) byAddress.set(address, new Set([connection]))
    else neighbours.add(connection)
  }

  function leave(address: string, connection: Connection): void {
    const neighbours = byAddress.get(address)
    neighbours?.delete(connection)
    if (neighbours?.size === 0) byAddress.delete(address)
  }

  return {
    admit,
    get open() {
      return all.size
    },
  }
}

function countedAddress(socket: Socket, trusted: CidrSet): string | undefined {
  const peer = parseAddress(socket.remoteAddress ?? '')
  return peer === undefined || trusted.has(peer) ? undefined : addressBlock(peer)
}

// Busy ones go to the end, so that the next search begins after them.
function findResting(among: Set<Connection>): Connection | undefined {
  let looks = 0
  for (const connection of among) {
    if (++looks > LOOKS_MAX) return undefined
    // A destroyed one is counted until its close event.
    if (!connection.socket.destroyed && connection.isIdle(connection.socket)) {
      among.delete(connection)
      return connection
    }
    among.delete(connection)
    among.add(connection)
  }
  return undefined
}
