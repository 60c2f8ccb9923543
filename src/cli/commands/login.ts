// `turnpike login`: checks an admin token and keeps it in a profile.
import { DEFAULT_URL, gatewayUrl, loadClientEnv } from '../../config/command-env.ts'
import { BadUsage, type Command, type Input } from '../command.ts'
import { checkToken } from '../connection.ts'
import { clientOf } from '../http-client.ts'
import { identify } from '../identify.ts'
import { printFields, printJson } from '../output.ts'
import { checkProfileName, DEFAULT_PROFILE, profilesFile, readProfiles, writeProfiles } from '../profiles.ts'
import { askSecret, isInteractive } from '../prompt.ts'
import { lineFromStdin } from '../stdin.ts'

const TOKEN_CHARS_MAX = 1024

export const commands: Readonly<Record<string, Command>> = {
  '': {
    usage: 'login [options]',
    about: 'Checks an admin token and saves it in a profile, which later commands use.',
    examples: [
      'turnpike login',
      'turnpike login --profile prod --url https://gateway.example.com',
      'turnpike login < token.txt',
    ],
    options: {
      profile: { value: 'NAME', about: `profile to write (default "${DEFAULT_PROFILE}")`, values: 'profiles' },
      url: { value: 'URL', about: `gateway (default: that of the profile, TURNPIKE_URL or ${DEFAULT_URL})` },
    },
    more: 'The token is read from a prompt that does not show it, or from standard input. Profiles are in profiles.json in $XDG_CONFIG_HOME/turnpike or ~/.config/turnpike, readable only by you.',
    run: login,
  },
}

async function login(input: Input): Promise<number> {
  const env = loadClientEnv()
  const profiles = readProfiles()
  const name = checkProfileName(input.text('profile') ?? env.profile ?? DEFAULT_PROFILE)
  const known = Object.hasOwn(profiles.entries, name) ? profiles.entries[name] : undefined
  const given = input.text('url')
  const url = given === undefined ? (known?.url ?? env.url ?? DEFAULT_URL) : gatewayUrl('--url', given)
  warnOfPlainText(url)
  const token = await readToken(url)
  const operator = await identify(clientOf({ url, token, urlFrom: 'this login', tokenFrom: 'this login' }))
  writeProfiles({ current: name, entries: { ...profiles.entries, [name]: { url, token } } })
  const { id, name: who, role } = operator
  if (input.json) printJson({ ok: true, profile: name, url, operator: { id, name: who, role }, file: profilesFile() })
  else
    printFields([
      ['profile', name],
      ['url', url],
      ['operator', `${who} (${role})`],
      ['file', profilesFile()],
    ])
  if (env.adminToken !== undefined || env.url !== undefined)
    process.stderr.write('TURNPIKE_URL or TURNPIKE_ADMIN_TOKEN is set and takes precedence over profiles\n')
  return 0
}

async function readToken(url: string): Promise<string> {
  const token = isInteractive() ? await askSecret(`Admin token for ${url}: `) : await lineFromStdin(TOKEN_CHARS_MAX)
  if (token === '') throw new BadUsage('no admin token; type it at the prompt or write it to standard input')
  return checkToken(token)
}

function warnOfPlainText(url: string): void {
  const { protocol, hostname } = new URL(url)
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.')
  if (protocol === 'http:' && !isLocal)
    process.stderr.write('warning: http:// sends the token unencrypted; use https:// outside of your own machine\n')
}
