// `npm run soak`: 5,000 streams at once, 100,000 chats, and three times the load that one core can serve. Memory must return to
// its level, the excess must be refused by 429 and 503 alone, and every answered chat must have been charged.
// Prints its results to stdout. A command of the repository, not a part of the server, which writes to its log alone.

import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Running } from './contestant.ts'
import { residentMb } from './cpu.ts'
import type { Load, LoadReport } from './load.ts'
import type { Offer, OfferReport } from './open-loop.ts'
import { ask, startPinned, stop } from './processes.ts'
import { adminOf, countCharged, createKey, ROOT, startTurnpike } from './turnpike.ts'

const HELP = `npm run soak -- [options]

  --streams N    concurrent streams (5000), each of 50 frames, one every 400 ms
  --chats N      JSON chats on 64 connections (100000)
  --seconds N    duration of the overload (20)
  --help`

// Memory within this of its level has returned: the collector leaves some garbage.
const BACK_MB = 60
const OVERLOAD = 3
const RESTING_SECONDS = 40

const { values: options } = parseArgs({
  options: {
    streams: { type: 'string', default: '5000' },
    chats: { type: 'string', default: '100000' },
    seconds: { type: 'string', default: '20' },
    help: { type: 'boolean', default: false },
  },
})

if (options.help) console.log(HELP)
else await main()

async function main(): Promise<void> {
  mkdirSync(join(ROOT, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(ROOT, '.cache', 'soak-'))
  const script = (name: string, ...args: string[]) =>
    startPinned('others', [process.execPath, join(import.meta.dirname, name), ...args], join(folder, `${name}.log`))
  const upstream = script('mock-upstream.ts', '--pace-ms', '400')
  const { port: upstreamPort } = await ask<{ port: number }>(upstream)
  const closed = script('load.ts')
  const openLoop = script('open-loop.ts')
  const gateway = await startTurnpike({ folder, upstreamPort, profileFolder: undefined })
  let sent = 0
  let answered = 0

  async function load(more: Pick<Load, 'form' | 'connections' | 'requests'>): Promise<LoadReport & Watched> {
    const { port, headers, paths } = gateway
    const watched = watch(gateway)
    const report = await ask<LoadReport>(closed, { ports: [port], headers, path: paths[more.form], ...more })
    sent += more.requests
    answered += report.completed
    return { ...report, ...(await watched.stop()) }
  }

  try {
    await load({ form: 'json', connections: 64, requests: 20_000 })
    await load({ form: 'stream', connections: 64, requests: 256 })
    const level = await restingMb(gateway)
    say(`resting after the warm-up: ${level.toFixed(0)} MB`)

    const streams = await load({
      form: 'stream',
      connections: Number(options.streams),
      requests: Number(options.streams),
    })
    report('streams at once', streams, level, await restingMb(gateway))
    say(`  ${(((streams.peakMb - level) * 1000) / Number(options.streams)).toFixed(1)} kB a stream at the peak`)

    const chats = await load({ form: 'json', connections: 64, requests: Number(options.chats) })
    report('chats', chats, level, await restingMb(gateway))

    const perSecond = chats.completed / chats.seconds
    const over = await overload(gateway, openLoop, perSecond * OVERLOAD)
    say(
      `${OVERLOAD} × overload: ${perSecond.toFixed(0)} chats a second fit, ${over.offered} were sent in ${options.seconds} s`,
    )
    say(
      `  answers: ${JSON.stringify(over.byStatus)}; lost ${over.lost}; not sent for want of connections ${over.notOffered}`,
    )
    say(`  p50 ${over.p50Ms.toFixed(0)} ms, p99 ${over.p99Ms.toFixed(0)} ms; ${watchedText(over)}`)
    say(`  resting afterwards: ${(await restingMb(gateway)).toFixed(0)} MB`)

    const after = await load({ form: 'json', connections: 64, requests: 2_000 })
    say(`afterwards: ${after.completed} of 2000 chats answered`)
    const faults = faultsOf(streams, chats, over, after)
    const resting = await restingMb(gateway)
    if (resting > level + BACK_MB) faults.push(`memory stays at ${resting.toFixed(0)} MB, from ${level.toFixed(0)}`)
    if (over.charged !== over.byStatus['200'])
      faults.push(`${over.byStatus['200']} chats were answered under overload, ${over.charged} charged`)
    await gateway.verify?.(sent, answered)
    say('audit clean; every answered chat was charged')
    for (const fault of faults) console.error(`FAILED: ${fault}`)
    if (faults.length > 0) process.exitCode = 1
  } finally {
    for (const child of [closed, openLoop, upstream]) await stop(child)
    await gateway.stop()
  }
  if (!process.exitCode) rmSync(folder, { recursive: true })
}

function faultsOf(streams: LoadReport, chats: LoadReport, over: OfferReport, after: LoadReport): string[] {
  const faults: string[] = []
  for (const { failures, firstFailure } of [streams, chats, after])
    if (failures > 0) faults.push(`${failures} requests failed: ${firstFailure}`)
  for (const status of Object.keys(over.byStatus))
    if (!/^(200|429|503)/.test(status)) faults.push(`${over.byStatus[status]} answers under overload were ${status}`)
  if (over.lost > 0) faults.push(`${over.lost} requests were lost under overload`)
  return faults
}

// Ten customers with a key each, with up to 100 requests in flight: what a core cannot serve in time is refused there.
async function overload(gateway: Running, generator: ChildProcess, perSecond: number): Promise<Overloaded> {
  const admin = adminOf(gateway.port)
  const limits = { rpm_limit: 10_000_000, daily_limit: null, max_concurrent: 100 }
  const keys = await Promise.all(Array.from({ length: 10 }, () => createKey(admin, limits)))
  const watched = watch(gateway)
  const messages = [{ role: 'user', content: 'What does a gateway do all day?' }]
  const offer: Offer = {
    port: gateway.port,
    path: gateway.paths.json,
    authorizations: keys.map(({ secret }) => `Bearer ${secret}`),
    body: JSON.stringify({ model: 'bench', messages }),
    perSecond,
    seconds: Number(options.seconds),
    connectionsMax: 4_000,
  }
  const report = await ask<OfferReport>(generator, offer)
  const seen = await watched.stop()
  let charged = 0
  for (const { id } of keys) charged += await countCharged(admin, id)
  return { ...report, ...seen, charged }
}

type Overloaded = OfferReport & Watched & { readonly charged: number }
type Watched = { readonly peakMb: number; readonly healthP50Ms: number; readonly healthMaxMs: number }

// Requests /health five times a second, one after the other, and reads the memory.
function watch({ pid, port }: Running): { stop(): Promise<Watched> } {
  let going = true
  let peakMb = 0
  const delays: number[] = []
  const watching = (async () => {
    while (going) {
      const asked = performance.now()
      await fetch(`http://127.0.0.1:${port}/health`).then(answer => answer.text())
      delays.push(performance.now() - asked)
      peakMb = Math.max(peakMb, residentMb(pid))
      await sleep(200)
    }
  })()
  return {
    async stop() {
      going = false
      await watching
      delays.sort((a, b) => a - b)
      return { peakMb, healthP50Ms: delays[delays.length >> 1] ?? 0, healthMaxMs: delays.at(-1) ?? 0 }
    },
  }
}

// Unused memory is released some seconds after the load. Idle connections to the upstream are kept for 20 s, and garbage is
// collected after that.
async function restingMb({ pid }: Running): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let second = 0; second < RESTING_SECONDS; second++) {
    await sleep(1000)
    least = Math.min(least, residentMb(pid))
  }
  return least
}

function report(what: string, load: LoadReport & Watched, level: number, resting: number): void {
  say(`${load.completed} ${what}: ${load.failures} failed, ${load.seconds.toFixed(1)} s, ${watchedText(load)}`)
  say(`  resting afterwards: ${resting.toFixed(0)} MB (${(resting - level).toFixed(0)} above the level)`)
}

function watchedText({ peakMb, healthP50Ms, healthMaxMs }: Watched): string {
  return `peak ${peakMb.toFixed(0)} MB, /health p50 ${healthP50Ms.toFixed(1)} ms, slowest ${healthMaxMs.toFixed(0)} ms`
}

function say(line: string): void {
  console.log(line)
}
