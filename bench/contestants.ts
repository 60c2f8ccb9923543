// What is measured, and how each is started; all answer chats of the same upstream.

import { join } from 'node:path'
import type { Contestant } from './contestant.ts'
import { nginx } from './nginx.ts'
import { ask, startPinned, stop } from './processes.ts'
import { turnpike, turnpikeInMemory } from './turnpike.ts'

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

export const CONTESTANTS: readonly Contestant[] = [nginx, relay, turnpike, turnpikeInMemory]
