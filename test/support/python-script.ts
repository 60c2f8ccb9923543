// Runs a Python script that reads one JSON object and writes one.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { json, text } from 'node:stream/consumers'
import type { Python } from './python.ts'

export async function runScript<Seen>({ executable, env }: Python, script: string, given: object): Promise<Seen> {
  // httpx would send even loopback through a proxy.
  const direct = { NO_PROXY: '127.0.0.1', no_proxy: '127.0.0.1' }
  const child = spawn(executable, [script], { env: { ...process.env, ...direct, ...env } })
  child.stdin.end(JSON.stringify(given))
  const [seen, complaints, [code]] = await Promise.all([
    json(child.stdout).catch(() => undefined),
    text(child.stderr),
    once(child, 'close'),
  ])
  assert.equal(code, 0, complaints)
  return seen as Seen
}
