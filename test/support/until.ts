// Waits for a condition, and fails with its name after the timeout.
import { setTimeout } from 'node:timers/promises'

export async function until(what: string, holds: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
    await setTimeout(5)
  }
}
