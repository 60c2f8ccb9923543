// Tracks whether the server can be reached, and the offset to the server's clock, by which countdowns run.

export type Connection = 'connected' | 'lost' | 'restored'

const RESTORED_SHOWN_MS = 5000
const CLOCK_SKEW_MS = 30_000

let state: Connection = 'connected'
let offsetMs = 0
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

export function connection(): Connection {
  return state
}

export function onConnection(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function reportResponse(response: Response): void {
  const date = Date.parse(response.headers.get('date') ?? '')
  // The header has a resolution of one second and the response took time to arrive: only a large difference is clock skew.
  if (!Number.isNaN(date)) offsetMs = Math.abs(date - Date.now()) > CLOCK_SKEW_MS ? date - Date.now() : 0
  const isServing = response.status !== 502 && response.status !== 503 && response.status !== 504
  if (!isServing) reportUnreachable()
  else if (state === 'lost') {
    change('restored')
    timer = setTimeout(() => change('connected'), RESTORED_SHOWN_MS)
  }
}

export function reportUnreachable(): void {
  change('lost')
}

export function serverNow(): number {
  return Date.now() + offsetMs
}

function change(next: Connection): void {
  if (state === next) return
  clearTimeout(timer)
  state = next
  for (const listener of listeners) listener()
}
