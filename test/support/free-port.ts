// A TCP port that is not in use and that no other test on this machine gets, in this run or a concurrent one.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

// A file for each assigned port, with the id of the process that has it: between the choice of a port and the moment a
// server listens on it, nothing else shows that it is taken.
const TAKEN = join(tmpdir(), `turnpike-test-ports-${userInfo().username}`)
const own = new Set<string>()
process.once('exit', () => {
  for (const file of own) rmSync(file, { force: true })
})

// Below the range of outgoing connections, which could use the port while a gateway restarts, and above 10080, the
// highest port that fetch() refuses.
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_081, 32_000)
    if (isReserved(port) && (await isUnused(port))) return port
  }
}

function isReserved(port: number): boolean {
  mkdirSync(TAKEN, { recursive: true })
  const file = join(TAKEN, String(port))
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' })
  } catch {
    // Left by a killed process, it is free for a later attempt.
    if (!isAlive(file)) rmSync(file, { force: true })
    return false
  }
  own.add(file)
  return true
}

function isAlive(file: string): boolean {
  try {
    const pid = Number(readFileSync(file, 'utf8'))
    // Empty while its process is writing it.
    return pid === 0 || process.kill(pid, 0)
  } catch {
    return false
  }
}

async function isUnused(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  )
  if (!isFree) return false
  server.close()
  await once(server, 'close')
  return true
}
