// Who is measured, and how each is started; every one of them answers chats of the same upstream.

import { join } from 'node:path'
import type { Form } from './answer-reader.ts'
import { nginx } from './nginx.ts'
import { ask, startPinned, stop } from './processes.ts'
import { turnpike } from './turnpike.ts'

export type Contestant = {
  readonly name: string
  readonly start: (place: Place) => Promise<Running>
}

type Place = {
  readonly folder: string
  readonly upstreamPort: number
  readonly profileFolder: string | undefined
}

export type Running = {
  readonly pid: number
  readonly port: number
  readonly paths: Readonly<Record<Form, string>>
  readonly headers: Readonly<Record<string, string>>
  // Throws if it did not keep its books, and stops it on the way; `sent` is every request since the start.
  readonly verify?: (sent: number) => Promise<void>
  readonly stop: () => Promise<void>
}

const relay: Contestant = {
  name: 'relay',
  async start({ folder, upstreamPort }) {
    const command = [process.execPath, join(import.meta.dirname, 'relay.ts')]
    const env = { UPSTREAM_ORIGIN: `http://127.0.0.1:${upstreamPort}` }
    const child = startPinned('contestant', command, join(folder, 'relay.log'), env)
    const { port } = await ask<{ port: number }>(child)
    const path = '/v1/chat/completions'
    return { pid: child.pid!, port, paths: { json: path, stream: path }, headers: {}, stop: () => stop(child) }
  },
}

export const CONTESTANTS: readonly Contestant[] = [nginx, relay, turnpike]
