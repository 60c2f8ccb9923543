// Debian's packages for what the tests need of a machine: only where we are root or in CI, never on a person's machine unasked.
import { spawnSync } from 'node:child_process'

const STEP_MS_MAX = 600_000

// Whether they are there now. Several test processes may come at once: they wait for each other.
export function installPackages(...names: readonly string[]): boolean {
  const isRoot = process.getuid?.() === 0
  if (!isRoot && !process.env.CI) return false
  const command = [...(isRoot ? [] : ['sudo', '-n']), 'apt-get', '-o', 'DPkg::Lock::Timeout=300', '-qq']
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  return [['update'], ['install', '-y', '--no-install-recommends', ...names]].every(step => {
    const [program = '', ...args] = [...command, ...step]
    return spawnSync(program, args, { stdio: 'ignore', timeout: STEP_MS_MAX, env }).status === 0
  })
}
