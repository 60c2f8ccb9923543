// The package that users install: the tarball of `npm pack`, made from this tree.
import { execFile } from 'node:child_process'
import { cp, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { version } from '../../src/lib/version.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const COPIED = [
  'bin',
  'deploy/systemd',
  'src',
  'dist',
  'docs',
  'package.json',
  'package-lock.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
]

// From a copy of the tree with its timestamps, so that the build is current and is not repeated.
export async function pack(folder: string): Promise<string> {
  await run(process.execPath, [join(ROOT, 'bin/build.js')])
  const tree = join(folder, 'tree')
  for (const name of [...COPIED, 'web/dist']) {
    await cp(join(ROOT, name), join(tree, name), { recursive: true, preserveTimestamps: true })
  }
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', folder], { cwd: tree })
  return join(folder, `turnpike-${version()}.tgz`)
}

// As in a shell of the machine: without npm's variables, and without the Node of the development tools.
const HOW_TO_DOWNLOAD =
  /^(?:npm_config_(?:registry|userconfig|cafile|https?_proxy|proxy|noproxy)|NODE_EXTRA_CA_CERTS)$/i
const OF_THIS_RUN = /^(?:npm_|NODE|TURNPIKE_|DATABASE_URL$|REDIS_URL$|INIT_CWD|CI$)/i

export function machineEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => HOW_TO_DOWNLOAD.test(name) || !OF_THIS_RUN.test(name))
  const path = (process.env.PATH ?? '').split(delimiter).filter(folder => !folder.includes('node_modules'))
  return { ...Object.fromEntries(kept), PATH: path.join(delimiter) }
}
