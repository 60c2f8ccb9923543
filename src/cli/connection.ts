// Which gateway a command calls, and with which token: options, then the environment, then a profile. A profile's token is sent
// only to the profile's own URL.
import { type ClientEnv, DEFAULT_URL, gatewayUrl, loadClientEnv } from '../config/command-env.ts'
import { BadUsage, type Input, type Option } from './command.ts'
import { findProfile, nameInUse, type Profile, readProfiles } from './profiles.ts'
import { lineFromStdin } from './stdin.ts'

export type Connection = {
  readonly url: string
  readonly token: string | undefined
  // Where the URL and the token come from, for messages.
  readonly urlFrom: string
  readonly tokenFrom: string
}

export const URL_OPTIONS: Readonly<Record<string, Option>> = {
  url: { value: 'URL', about: 'gateway to call' },
  profile: { value: 'NAME', about: 'profile to use', values: 'profiles' },
}
export const CLIENT_OPTIONS: Readonly<Record<string, Option>> = {
  ...URL_OPTIONS,
  'token-stdin': { about: 'read the admin token from stdin' },
}

const TOKEN_CHARS_MAX = 1024

export async function connect(input: Pick<Input, 'text' | 'flag'>): Promise<Connection> {
  const found = findConnection(input)
  if (!input.flag('token-stdin')) return found
  return { ...found, token: checkToken(await lineFromStdin(TOKEN_CHARS_MAX)), tokenFrom: 'standard input' }
}

export function checkToken(token: string): string {
  if (token === '') throw new BadUsage('no admin token on stdin')
  if (!/^[\x21-\x7e]{1,1024}$/.test(token))
    throw new BadUsage(`an admin token has at most ${TOKEN_CHARS_MAX} characters, without spaces and other than ASCII`)
  return token
}

function findConnection(input: Pick<Input, 'text'>): Connection {
  const [url, name] = [input.text('url'), input.text('profile')]
  const env = loadClientEnv()
  const given = url === undefined ? undefined : gatewayUrl('--url', url)
  if (name !== undefined) {
    const profile = findProfile(readProfiles(), name)
    if (given !== undefined && given !== profile.url)
      throw new BadUsage(`--url is not the URL of the profile "${name}" (${profile.url}); pass one of the two`)
    return ofProfile(name, profile)
  }
  if (given === undefined && env.url === undefined && env.adminToken === undefined) return withoutUrl(env)
  const base = { url: given ?? env.url ?? DEFAULT_URL, urlFrom: given === undefined ? fromEnv(env.url) : '--url' }
  if (env.adminToken !== undefined) return { ...base, token: env.adminToken, tokenFrom: 'TURNPIKE_ADMIN_TOKEN' }
  const own = currentProfile(env)
  const isSame = own !== undefined && own[1].url === base.url
  return { ...base, token: isSame ? own[1].token : undefined, tokenFrom: isSame ? `profile "${own[0]}"` : 'nowhere' }
}

function withoutUrl(env: ClientEnv): Connection {
  const own = currentProfile(env)
  return own === undefined
    ? { url: DEFAULT_URL, urlFrom: 'the default', token: undefined, tokenFrom: 'nowhere' }
    : ofProfile(...own)
}

function currentProfile(env: ClientEnv): readonly [string, Profile] | undefined {
  const profiles = readProfiles()
  const name = nameInUse(profiles, env)
  if (env.profile !== undefined) return [name, findProfile(profiles, name)]
  const profile = Object.hasOwn(profiles.entries, name) ? profiles.entries[name] : undefined
  return profile === undefined ? undefined : [name, profile]
}

function ofProfile(name: string, { url, token }: Profile): Connection {
  const from = `profile "${name}"`
  return { url, token, urlFrom: from, tokenFrom: from }
}

function fromEnv(url: string | undefined): string {
  return url === undefined ? 'the default' : 'TURNPIKE_URL'
}
