// Bounds the connections to all upstreams together, so that calls which outlive their callers cannot use up the descriptors that
// callers and the store need. At the bound, an idle connection is closed for a new one.

export type ConnectionLimit = {
  // Whether one more may be opened. Each is released once, when it is closed.
  take(): boolean
  giveBack(): void
  // `closeIdle` closes one idle connection, if there is one.
  join(closeIdle: () => boolean): void
  leave(closeIdle: () => boolean): void
}

export function connectionLimit(connectionsMax: number): ConnectionLimit {
  const clients = new Set<() => boolean>()
  let open = 0

  function closeOneIdle(): boolean {
    for (const closeIdle of clients) if (closeIdle()) return true
    return false
  }

  return {
    take() {
      // One that is being closed counts until it is closed.
      if (open >= connectionsMax && !closeOneIdle()) return false
      open += 1
      return true
    },
    giveBack() {
      open -= 1
    },
    join: closeIdle => void clients.add(closeIdle),
    leave: closeIdle => void clients.delete(closeIdle),
  }
}
