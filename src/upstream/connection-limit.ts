// Bounds the connections to all upstreams together, so that calls that outlive their callers cannot use up the descriptors that
// callers and the store need. An idle connection is closed for a new one.

export type OutwardRoom = {
  // Whether one more may be opened. Each is released once, when it is closed.
  take(): boolean
  giveBack(): void
  // `closeResting` closes one idle connection, if there is one.
  join(closeResting: () => boolean): void
  leave(closeResting: () => boolean): void
}

export function outwardRoom(connectionsMax: number): OutwardRoom {
  const clients = new Set<() => boolean>()
  let open = 0

  function makeRoom(): boolean {
    for (const closeResting of clients) if (closeResting()) return true
    return false
  }

  return {
    take() {
      // A connection that is being closed counts until it is closed.
      if (open >= connectionsMax && !makeRoom()) return false
      open += 1
      return true
    },
    giveBack() {
      open -= 1
    },
    join: closeResting => void clients.add(closeResting),
    leave: closeResting => void clients.delete(closeResting),
  }
}
