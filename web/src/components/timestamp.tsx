// Timestamps in the chosen time zone, with that zone and UTC in the tooltip, and relative times that stay current.
import { type ReactNode, useSyncExternalStore } from 'react'
import { serverNow } from '../api/connection.ts'
import { ago } from '../format/numbers.ts'
import { formatTime, offsetName } from '../format/time.ts'
import { useZone } from './zone.ts'

// The short form leaves out the year, for long lists.
export function Timestamp({
  at,
  isShort = false,
}: {
  readonly at: string | null
  readonly isShort?: boolean
}): ReactNode {
  const zone = useZone()
  if (at === null) return <>–</>
  return (
    <time dateTime={at} title={inBoth(at, zone)} className="number" style={{ whiteSpace: 'nowrap' }}>
      {formatTime(at, isShort ? 'short' : 'full', zone)}
    </time>
  )
}

export function Ago({ at, never = 'never' }: { readonly at: string | null; readonly never?: string }): ReactNode {
  const now = useNow()
  const zone = useZone()
  if (at === null) return <>{never}</>
  return (
    <time dateTime={at} title={inBoth(at, zone)} className="number" style={{ whiteSpace: 'nowrap' }}>
      {ago(now - Date.parse(at))}
    </time>
  )
}

// The server's time in whole seconds; one clock for the whole page.
export function useNow(): number {
  return useSyncExternalStore(listen, wholeSecond)
}

function inBoth(at: string, zone: string): string {
  const utc = `${at.replace('T', ' ').replace(/Z$/, '')} UTC`
  const name = offsetName(Date.parse(at), zone)
  return name === 'UTC' ? utc : `${formatTime(at, 'full', zone)} ${name}\n${utc}`
}

let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function listen(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  for (const each of listeners) each()
}

function wholeSecond(): number {
  return Math.floor(serverNow() / 1000) * 1000
}
