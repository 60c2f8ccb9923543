// Podman from Debian's packages, with storage of its own, and a base image made of packages: no registry of images is needed.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './deploy-tools.ts'
import { installPackages } from './install.ts'
import { machineEnv } from './packed.ts'

export type Engine = {
  // Throws with the output of a command that fails.
  podman(...args: readonly string[]): string
  // The options that builds and containers need here.
  readonly limits: readonly string[]
  // Options with which npm in a build downloads like npm on this machine.
  readonly npm: readonly string[]
}

const STEP_MS_MAX = 600_000
// What the commands of the Dockerfile need, apart from Node and npm.
const PACKAGES = [
  ...['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'busybox-static', 'coreutils'],
  ...['libacl1', 'libattr1', 'libgmp10', 'libselinux1', 'libpcre2-8-0'],
]

// The engine, or why there is none on this machine.
export function containerEngine(folder: string, base: string): Engine | string {
  if (process.getuid?.() !== 0) return 'containers need root here'
  if (process.arch !== 'x64') return `there is no base image for ${process.arch}`
  if (!hasTools() && !(installPackages('podman', 'runc') && hasTools())) return 'podman could not be installed'
  const engine = openEngine(folder)
  try {
    importBase(engine, folder, base)
    engine.podman('run', '--rm', ...engine.limits, base, 'node', '--version')
    return engine
  } catch (error) {
    return `no container can be started: ${(error as Error).message}`
  }
}

function hasTools(): boolean {
  return ['podman', 'runc'].every(tool => spawnSync(tool, ['--version']).status === 0)
}

function openEngine(folder: string): Engine {
  const own = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run'), '--runtime', 'runc']
  const files = run('sh', ['-c', 'ulimit -Hn'], folder).trim()
  return {
    podman: (...args) => run('podman', [...own, ...args], ROOT),
    // Podman would raise the limits, which a restricted root may not do.
    limits: ['--network', 'host', '--ulimit', `nofile=${files}:${files}`, '--ulimit', 'nproc=4096:4096'],
    npm: npmOptions(folder),
  }
}

function npmOptions(folder: string): readonly string[] {
  const setting = (name: string) => run('npm', ['config', 'get', name], folder).trim()
  const own = setting('cafile')
  const authorities = own === 'null' || own === '' ? (process.env.NODE_EXTRA_CA_CERTS ?? '') : own
  const settings = [`registry=${setting('registry')}`, 'prefer-offline=true', 'cache=/var/cache/npm']
  const file = join(folder, 'npmrc')
  writeFileSync(file, [...settings, ...(authorities === '' ? [] : ['cafile=/etc/authorities.crt'])].join('\n'))
  const cache = join(setting('cache'), '_cacache')
  return [
    ...['-v', `${file}:/usr/local/etc/npmrc:ro`],
    ...(authorities === '' ? [] : ['-v', `${authorities}:/etc/authorities.crt:ro`]),
    ...(existsSync(cache) ? ['-v', `${cache}:/var/cache/npm/_cacache`] : []),
  ]
}

// Debian's packages, Node as the tests have it, and npm from its package.
function importBase(engine: Engine, folder: string, base: string): void {
  const [debs, root] = [join(folder, 'debs'), join(folder, 'base')]
  mkdirSync(debs)
  for (const path of ['bin', 'tmp', 'root', 'usr/bin', 'usr/local/bin', 'usr/local/lib/node_modules'])
    mkdirSync(join(root, path), { recursive: true })
  downloadPackages(debs)
  for (const file of readdirSync(debs)) run('dpkg-deb', ['-x', join(debs, file), root], folder)
  // The users of the official image.
  const users = ['root:x:0:0:root:/root:/bin/sh', 'node:x:1000:1000::/home/node:/bin/sh', '']
  writeFileSync(join(root, 'etc/passwd'), users.join('\n'))
  const busybox = join(root, 'bin/busybox')
  for (const name of run(busybox, ['--list'], folder).trim().split('\n'))
    if (!existsSync(join(root, 'bin', name))) symlinkSync('/bin/busybox', join(root, 'bin', name))
  if (!existsSync(join(root, 'usr/bin/env'))) symlinkSync('/bin/busybox', join(root, 'usr/bin/env'))
  cpSync(process.execPath, join(root, 'usr/local/bin/node'), { dereference: true })
  const npm = run('npm', ['--version'], folder).trim()
  run('npm', ['pack', '--silent', '--prefer-offline', `npm@${npm}`], folder)
  const modules = join(root, 'usr/local/lib/node_modules')
  run('tar', ['-xzf', join(folder, `npm-${npm}.tgz`), '-C', modules], folder)
  run('mv', [join(modules, 'package'), join(modules, 'npm')], folder)
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
  run('sh', ['-c', `chmod 1777 '${root}/tmp' && tar -C '${root}' -cf '${folder}/base.tar' .`], folder)
  engine.podman('import', join(folder, 'base.tar'), base)
}

// The list of packages may be missing on a new machine: an installation brings it.
function downloadPackages(folder: string): void {
  const download = () =>
    spawnSync('apt-get', ['-qq', 'download', ...PACKAGES], { cwd: folder, stdio: 'ignore', timeout: STEP_MS_MAX })
  if (download().status === 0) return
  installPackages('podman', 'runc')
  if (download().status !== 0) throw new Error('the packages of the base image could not be downloaded')
}

function run(command: string, args: readonly string[], cwd: string): string {
  const ran = spawnSync(command, args, { cwd, encoding: 'utf8', env: machineEnv(), timeout: STEP_MS_MAX })
  if (ran.status !== 0) throw new Error(`${command} ${args[0]} ended with ${ran.status}: ${ran.stdout}${ran.stderr}`)
  return ran.stdout
}
