// Whether the server answers, told to whoever listens, and what time it is there: countdowns go by the server's clock.

export type Connection = 'ok' | 'away' | 'back'

const BACK_SHOWN_MS = 5000
const OTHER_CLOCK_MS = 30_000

let state: Connection = 'ok'
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

export function heard(response: Response): void {
  const date = Date.parse(response.headers.get('date') ?? '')
  // The header counts whole seconds, and the answer was on its way for a while: only what is far more is another clock.
  if (!Number.isNaN(date)) offsetMs = Math.abs(date - Date.now()) > OTHER_CLOCK_MS ? date - Date.now() : 0
  const isServing = response.status !== 502 && response.status !== 503 && response.status !== 504
  if (!isServing) silent()
  else if (state === 'away') {
    change('back')
    timer = setTimeout(() => change('ok'), BACK_SHOWN_MS)
  }
}

export function silent(): void {
  change('away')
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
