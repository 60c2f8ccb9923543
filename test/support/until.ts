// Waits for something to become true, and fails with its name when it does not.
import { setTimeout } from 'node:timers/promises'

export async function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
    await setTimeout(5)
  }
}
