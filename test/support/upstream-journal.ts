// What the scripted upstream records of each request: the reference for bills and disconnects.
import type { IncomingHttpHeaders } from 'node:http'
import type { Counts } from './completion-parts.ts'
import type { Plan } from './upstream-plan.ts'

// Times are milliseconds of Date.now(). The last block changes while the request runs.
export type JournalEntry = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly rawBody: Buffer
  readonly body: unknown
  readonly model: string
  readonly stream: boolean
  readonly requestId: string | undefined
  readonly startedAt: number

  plan: Plan
  status: number
  tokens: Counts
  chunks: number
  bytes: number
  diedAt: number | undefined
  endedAt: number | undefined
  closedByPeerAt: number | undefined
}
