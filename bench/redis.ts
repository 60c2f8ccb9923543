// A Redis for the gateways of a benchmark, on cores of its own.

import { startRedis } from '../test/support/redis.ts'
import { type Core, pin } from './processes.ts'

export type Redis = { readonly url: string; place(on: Core): void }

export async function startPlacedRedis(): Promise<Redis> {
  const redis = await startRedis()
  const pid = Number(/process_id:(\d+)/.exec(String(await redis.command('INFO', 'server')))?.[1])
  return { url: redis.url, place: on => pin(on, pid) }
}
