// `turnpike doctor`: checks this machine and the gateway, and says what to do about each problem.
import { styleText } from 'node:util'
import type { Command } from '../command.ts'
import { CLIENT_OPTIONS, connect } from '../connection.ts'
import { type Finding, fail } from '../doctor/finding.ts'
import { gatewayChecks } from '../doctor/gateway-checks.ts'
import { localChecks } from '../doctor/local-checks.ts'
import { CLIENT_HELP } from '../http-client.ts'
import { clean, printJson } from '../output.ts'

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'doctor [options]',
    about:
      'Checks this machine and the gateway: Node, configuration, data directory, token, clocks, store and providers.\nExits with 1 if a check fails.',
    examples: ['turnpike doctor', 'turnpike doctor --profile prod --json'],
    commonOptions: CLIENT_OPTIONS,
    more: CLIENT_HELP,
    async run(input) {
      const local = localChecks()
      const remote = await connect(input).then(gatewayChecks, (error: Error) => [
        fail('gateway', error.message, 'correct the URL or the profile'),
      ])
      const checks = [...local, ...remote]
      const isOk = checks.every(({ state }) => state !== 'fail')
      if (input.json) printJson({ ok: isOk, checks })
      else print(checks)
      return isOk ? 0 : 1
    },
  },
}

const COLOURS = { ok: 'green', warn: 'yellow', fail: 'red', skip: 'dim' } as const

function print(checks: readonly Finding[]): void {
  const width = Math.max(...checks.map(({ check }) => check.length))
  for (const { check, state, detail, fix } of checks) {
    const lines = clean(detail.replaceAll('\n', '; '))
    process.stdout.write(`${styleText(COLOURS[state], state.padEnd(4))}  ${check.padEnd(width)}  ${lines}\n`)
    if (fix !== undefined) process.stdout.write(`${' '.repeat(width + 8)}→ ${fix}\n`)
  }
}
