// `turnpike portal-link`: creates a link that opens the customer portal of an account once.
import { clientCommand } from '../call-command.ts'
import { BadUsage, type Command, type Input } from '../command.ts'
import type { Client } from '../http-client.ts'
import { clean, printJson } from '../output.ts'

const PERMISSIONS = ['usage', 'keys'] as const

export const commands: Readonly<Record<string, Command>> = {
  '': clientCommand(
    {
      usage: 'portal-link ACCOUNT [options]',
      about: 'Creates a link that opens the customer portal of an account once, and prints it.',
      examples: ['turnpike portal-link acme', 'turnpike portal-link acme --may usage --expires-in 60'],
      options: {
        'return-url': { value: 'URL', about: 'where the portal leads back to' },
        may: {
          value: 'PERMISSION',
          multiple: true,
          about: 'usage or keys; repeatable (default: both)',
          values: PERMISSIONS,
        },
        'expires-in': { value: 'SECONDS', about: 'how long the link works (default and maximum: 300)' },
      },
      takes: [1, 1],
      names: 'account',
      check: input => void bodyOf(input),
    },
    create,
  ),
}

async function create(input: Input, client: Client): Promise<number> {
  const [account = ''] = input.args
  const link = await client.call('POST', `/accounts/${encodeURIComponent(account)}/portal-sessions`, bodyOf(input))
  if (input.json) printJson(link)
  else {
    process.stdout.write(`${clean(String(link.url))}\n`)
    process.stderr.write(`Works once, until ${clean(String(link.expires_at))}.\n`)
  }
  return 0
}

function bodyOf(input: Input) {
  const [returnUrl, permissions, seconds] = [input.text('return-url'), input.texts('may'), input.text('expires-in')]
  const unknown = permissions?.find(each => !PERMISSIONS.some(known => known === each))
  if (unknown !== undefined) throw new BadUsage(`--may must be usage or keys, not "${unknown}"`)
  if (seconds !== undefined && !/^[1-9]\d{0,2}$/.test(seconds)) throw new BadUsage('--expires-in must be 1 to 300')
  return {
    ...(returnUrl === undefined ? {} : { return_url: returnUrl }),
    ...(permissions === undefined ? {} : { permissions }),
    ...(seconds === undefined ? {} : { expires_in: Number(seconds) }),
  }
}
