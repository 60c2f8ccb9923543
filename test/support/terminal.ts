// The command line in a terminal of its own, as a person uses it with a running gateway.
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { Gateway } from './gateway.ts'

const ENTRY = join(import.meta.dirname, '../../bin/turnpike.js')

export type Terminal = {
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
  // What the person types, as printf writes it.
  readonly types?: string
}

// `script` runs the command in its own terminal. The output is that of stdout and stderr, as it would be seen.
export async function onTerminal(
  gateway: Gateway,
  args: string,
  { columns = 100, env = {}, types }: Terminal = {},
): Promise<string> {
  const input = types === undefined ? 'sleep 0' : `(sleep 2; printf '${types}'; sleep 4)`
  const command = `stty cols ${columns}; '${process.execPath}' '${ENTRY}' ${args}`
  const { stdout } = await promisify(execFile)('sh', ['-c', `${input} | script -qefc "$COMMAND" /dev/null`], {
    cwd: dirname(gateway.configFile),
    timeout: 60_000,
    env: {
      PATH: process.env.PATH ?? '',
      TERM: 'xterm-256color',
      COMMAND: command,
      TURNPIKE_URL: gateway.url,
      TURNPIKE_ADMIN_TOKEN: gateway.adminToken,
      XDG_CONFIG_HOME: join(dirname(gateway.configFile), 'settings'),
      ...gateway.storeEnv,
      ...env,
    },
  })
  return stdout.replaceAll('\r\n', '\n')
}

// Without colours and other control sequences.
export function visible(text: string): string {
  return text.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '')
}
