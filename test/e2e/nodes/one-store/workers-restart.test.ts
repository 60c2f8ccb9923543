// Workers that die and cannot be restarted at once: the primary keeps running, retries with growing delays, and
// recovers.
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../support/folder.ts'
import type { Loose } from '../../../support/http-call.ts'
import { startNodes } from '../../../support/nodes.ts'
import { hasPostgres } from '../../../support/postgres.ts'
import { until } from '../../../support/until.ts'

if (hasPostgres()) {
  test('a primary that cannot start a worker retries with backoff and serves meanwhile', async () => {
    await using folder = await temporaryFolder()
    const how = join(folder.path, 'how')
    await using nodes = await startNodes(1, {
      env: { TURNPIKE_WORKERS: '2' },
      nodeArgs: ['--import', failingForks(how)],
    })
    const gateway = nodes.all[0]!
    const listening = () => gateway.logs.filter(line => String(line.msg) === 'listening')
    const failures = () => gateway.logs.filter(line => String(line.msg) === 'worker exited; restarting')
    await until('both listen', () => listening().length === 2, 30_000)

    // The error for too many processes, and then the one for lack of memory.
    writeFileSync(how, 'error')
    process.kill(Number(listening()[1]?.pid), 'SIGKILL')
    await until('it was tried twice', () => failures().length >= 3)
    writeFileSync(how, 'throw')
    await until('it was tried five times', () => failures().length >= 6, 20_000)
    const meanwhile = await gateway.get('/ready')
    rmSync(how)
    await until('another one listens', () => listening().length === 3, 30_000)
    // It had not been stable for a minute.
    process.kill(Number(listening()[2]?.pid), 'SIGKILL')
    await until('the failure is noticed', () => failures().length === 7)

    assert.equal(meanwhile.status, 200)
    assert.deepEqual(
      failures().map(line => Number(line.restartMs)),
      [200, 400, 800, 1600, 3200, 6400, 10_000],
    )
    const waits = failures().slice(0, 6).map(waitedMs)
    assert.ok(
      waits.every((ms, i) => ms >= 200 * 2 ** i - 20),
      `waited ${waits.join(', ')} ms`,
    )
    assert.match(String(failures()[1]?.err), /ENOENT/)
    assert.match(String(failures()[5]?.err), /ENOMEM/)
  })
}

// From one failure to the next, by the log.
function waitedMs(line: Loose, i: number, all: readonly Loose[]): number {
  const next = all[i + 1]
  return next === undefined ? Number.POSITIVE_INFINITY : timeOf(next) - timeOf(line)
}

function timeOf({ time }: Loose): number {
  return Date.parse(String(time))
}

// Code loaded before the gateway: while a file exists, every fork fails with the error in that file.
function failingForks(file: string): string {
  const code = `
    import cluster from 'node:cluster'
    import { existsSync, readFileSync } from 'node:fs'
    const fork = cluster.fork
    cluster.fork = (...args) => {
      const how = existsSync(${JSON.stringify(file)}) ? readFileSync(${JSON.stringify(file)}, 'utf8') : 'well'
      if (how === 'throw') throw new Error('spawn ENOMEM')
      cluster.settings.cwd = how === 'error' ? '/nowhere' : undefined
      return fork.apply(cluster, args)
    }`
  return `data:text/javascript,${encodeURIComponent(code)}`
}
