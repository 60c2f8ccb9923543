// The gateway's memory, by its own metrics.
import type { Gateway } from './gateway.ts'

export const MIB = 1024 * 1024

export async function residentBytes(gateway: Gateway): Promise<number> {
  const { text } = await gateway.get('/metrics')
  const found = /^turnpike_resident_bytes (\S+)$/m.exec(text)
  if (found === null) throw new Error('the metrics have no resident bytes')
  return Number(found[1])
}
