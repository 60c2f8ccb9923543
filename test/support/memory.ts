// The gateway's memory, by its own metrics, and what it has read from sockets and files.
import { readFile } from 'node:fs/promises'
import type { Gateway } from './gateway.ts'

export const MIB = 1024 * 1024

export async function residentBytes(gateway: Gateway): Promise<number> {
  const { text } = await gateway.get('/metrics')
  const found = /^turnpike_resident_bytes (\S+)$/m.exec(text)
  if (found === null) throw new Error('the metrics have no resident bytes')
  return Number(found[1])
}

// By Linux's count, to which all sockets and files contribute.
export async function readBytes(gateway: Gateway): Promise<number> {
  const counts = await readFile(`/proc/${gateway.pid}/io`, 'utf8')
  return Number(/^rchar: (\d+)$/m.exec(counts)?.[1])
}
