// Debian's packages that the tests need on a machine: only as root or in CI, never on a person's machine without
// consent.
import { spawnSync } from 'node:child_process'

const STEP_MS_MAX = 600_000

// Whether they are installed now. Concurrent test processes wait for each other.
export function installPackages(...names: readonly string[]): boolean {
  const isRoot = process.getuid?.() === 0
  if (!isRoot && !process.env.CI) return false
  const command = [...(isRoot ? [] : ['sudo', '-n']), 'apt-get', '-o', 'DPkg::Lock::Timeout=300', '-qq']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return [['update'], ['install', '-y', '--no-remove', '--no-install-recommends', ...names]].every(step => {
    const [program = '', ...args] = [...command, ...step]
    return spawnSync(program, args, { stdio: 'ignore', timeout: STEP_MS_MAX, env }).status === 0
  })
}
