// Pauses between retries that can be ended for all waiters at once. From then on every pause is short: the process is about to
// exit and remaining work should happen now.

export type Pauses = {
  // Resolves after this time, or when the pauses are ended.
  rest(ms: number): Promise<void>
  end(): void
}

export function pauses(endedMsMax: number): Pauses {
  const waiting = new Map<() => void, NodeJS.Timeout>()
  let ended = false

  return {
    rest(ms) {
      return new Promise(resolve => {
        const go = () => {
          waiting.delete(go)
          resolve()
        }
        waiting.set(go, setTimeout(go, ended ? Math.min(ms, endedMsMax) : ms).unref())
      })
    },
    end() {
      ended = true
      for (const [go, timer] of waiting) {
        clearTimeout(timer)
        go()
      }
    },
  }
}
