// Timestamps in local time, with UTC in the tooltip, and relative times that stay current.
import { type ReactNode, useSyncExternalStore } from 'react'
import { serverNow } from '../api/connection.ts'
import { ago } from '../format/numbers.ts'

const SHORT = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

// The short form leaves out the year, for long lists.
export function Timestamp({
  at,
  isShort = false,
}: {
  readonly at: string | null
  readonly isShort?: boolean
}): ReactNode {
  if (at === null) return <>–</>
  return (
    <time dateTime={at} title={utcOf(at)} className="number" style={{ whiteSpace: 'nowrap' }}>
      {(isShort ? SHORT : FULL).format(new Date(at))}
    </time>
  )
}

export function Ago({ at, never = 'never' }: { readonly at: string | null; readonly never?: string }): ReactNode {
  const now = useNow()
  if (at === null) return <>{never}</>
  return (
    <time
      dateTime={at}
      title={`${FULL.format(new Date(at))} local\n${utcOf(at)}`}
      className="number"
      style={{ whiteSpace: 'nowrap' }}
    >
      {ago(now - Date.parse(at))}
    </time>
  )
}

// The server's time in whole seconds; one clock for the whole page.
export function useNow(): number {
  return useSyncExternalStore(listen, wholeSecond)
}

function utcOf(at: string): string {
  return `${at.replace('T', ' ').replace(/Z$/, '')} UTC`
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
