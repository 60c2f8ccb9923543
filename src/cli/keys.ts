// `turnpike keys …`: keys by the admin API. A secret is printed once, when it is made.
import { systemClock } from '../lib/clock.ts'
import { CLIENT_HELP, CLIENT_OPTIONS, type Json, openClient } from './client.ts'
import { BadUsage, type Command, type Input, type Option } from './command.ts'
import { type Cell, printFields, printJson, printTable } from './table.ts'

const CONTROLS: Readonly<Record<string, Option>> = {
  scope: { value: 'SCOPE', multiple: true, about: 'chat.completions or models.read; may be repeated' },
  'allow-ip': {
    value: 'RANGE',
    multiple: true,
    about: 'address or range it may be used from; may be repeated; "any" for all',
  },
  rpm: { value: 'N', about: 'requests per minute' },
  daily: { value: 'N', about: 'requests per UTC day, or "none"' },
  'credit-limit': { value: 'CREDITS', about: 'what this key may spend in all, or "none"' },
  'max-concurrent': { value: 'N', about: 'requests in flight at once' },
  expires: {
    value: 'WHEN',
    about: 'a date such as 2030-01-31T12:00:00Z, a time from now such as 30d or 12h, or "never"',
  },
}

export const commands: Readonly<Record<string, Command>> = {
  create: {
    usage: 'keys create NAME [options]',
    about: 'Creates a key and prints its secret, this once.',
    options: { account: { value: 'ID', about: 'the account it spends from' }, ...CONTROLS, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const account = input.text('account')
      const body = {
        name: input.args[0],
        ...(account === undefined ? {} : { account_id: account }),
        ...controls(input),
      }
      return show(await (await openClient(input)).call('POST', '/keys', body), input)
    },
  },
  list: {
    usage: 'keys list [options]',
    about: 'Lists keys, newest first.',
    options: {
      status: { value: 'STATUS', about: 'active, revoked or expired' },
      account: { value: 'ID', about: 'of one account' },
      search: { value: 'TEXT', about: 'part of a name, an id or the last four' },
      limit: { value: 'N', about: 'at most so many (50)' },
      after: { value: 'ID', about: 'go on after this key' },
      ...CLIENT_OPTIONS,
    },
    more: CLIENT_HELP,
    run: list,
  },
  show: onKey('show', 'Shows one key.', {}, 'GET', '', () => undefined),
  update: {
    usage: 'keys update ID [options]',
    about: 'Changes what is given and nothing else; in force with the next request.',
    options: { name: { value: 'NAME', about: 'a new name' }, ...CONTROLS, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    async run(input) {
      const name = input.text('name')
      const body: Json = { ...(name === undefined ? {} : { name }), ...controls(input) }
      if (Object.keys(body).length === 0) throw new BadUsage('nothing to change was given')
      return show(await (await openClient(input)).call('PATCH', keyPath(input), body), input)
    },
  },
  rotate: onKey(
    'rotate',
    'Makes a new secret and prints it, this once. The old one goes on working for 60 minutes.',
    {},
    'POST',
    '/rotate',
    () => ({}),
  ),
  'end-grace': onKey(
    'end-grace',
    'Ends the old secrets of a key now.',
    { last4: { value: 'XXXX', about: 'only the one that ends in these four characters' } },
    'POST',
    '/end-grace',
    input => (input.text('last4') === undefined ? {} : { last4: input.text('last4') }),
  ),
  revoke: onKey(
    'revoke',
    'Revokes a key for ever. Requests that were admitted before finish.',
    { 'abort-streams': { about: 'end those too, within a second' } },
    'POST',
    '/revoke',
    input => (input.flag('abort-streams') ? { abort_streams: true } : {}),
  ),
}

function onKey(
  verb: string,
  about: string,
  options: Readonly<Record<string, Option>>,
  method: 'GET' | 'POST',
  path: string,
  body: (input: Input) => Json | undefined,
): Command {
  return {
    usage: `keys ${verb} ID${Object.keys(options).length > 0 ? ' [options]' : ''}`,
    about,
    options: { ...options, ...CLIENT_OPTIONS },
    more: CLIENT_HELP,
    takes: [1, 1],
    run: async input => show(await (await openClient(input)).call(method, keyPath(input) + path, body(input)), input),
  }
}

async function list(input: Input): Promise<number> {
  const query = new URLSearchParams()
  for (const [option, name] of [
    ['status', 'status'],
    ['account', 'account_id'],
    ['search', 'q'],
    ['limit', 'limit'],
    ['after', 'after'],
  ] as const) {
    const value = input.text(option)
    if (value !== undefined) query.set(name, value)
  }
  const answer = await (await openClient(input)).call('GET', `/keys?${query}`)
  if (input.json) return done(() => printJson(answer))
  const keys = answer.data as readonly Json[]
  const columns = [
    'id',
    'name',
    'label',
    'status',
    'account_id',
    'rpm_limit',
    'daily_limit',
    'credit_limit',
    'last_used_at',
  ]
  printTable(
    columns,
    keys.map(key => columns.map(column => cell(key[column]))),
  )
  if (answer.has_more === true) process.stderr.write(`There are more: --after ${keys.at(-1)?.id}\n`)
  return 0
}

function show(key: Json, input: Input): number {
  if (input.json) return done(() => printJson(key))
  const { object: _, secret, previous, ...rest } = key
  const old = Array.isArray(previous)
    ? (previous as Json[]).map(each => `${each.last4} until ${each.grace_expires_at}`)
    : []
  printFields([
    ...Object.entries(rest).map(([name, value]) => [name, cell(value)] as const),
    ...(old.length > 0 ? [['old_secrets', old.join(', ')] as const] : []),
    ...(secret === undefined ? [] : [['secret', cell(secret)] as const]),
  ])
  if (secret !== undefined) process.stderr.write('Keep the secret now: it is not stored and cannot be shown again.\n')
  return 0
}

function controls(input: Input): Json {
  const body: Record<string, unknown> = {
    scopes: input.texts('scope'),
    ip_allowlist: input.texts('allow-ip')?.filter(range => range !== 'any'),
    rpm_limit: number(input, 'rpm'),
    daily_limit: input.text('daily') === 'none' ? null : number(input, 'daily'),
    credit_limit: input.text('credit-limit') === 'none' ? null : input.text('credit-limit'),
    max_concurrent: number(input, 'max-concurrent'),
    expires_at: expiry(input.text('expires')),
  }
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

function number(input: Input, name: string): number | undefined {
  const text = input.text(name)
  if (text !== undefined && !/^\d{1,15}$/.test(text)) throw new BadUsage(`--${name} must be a whole number`)
  return text === undefined ? undefined : Number(text)
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

function expiry(text: string | undefined): string | null | undefined {
  if (text === undefined || text === 'never') return text === undefined ? undefined : null
  const span = /^(\d{1,6})([mhd])$/.exec(text)
  const at = span === null ? Date.parse(text) : systemClock.now() + Number(span[1]) * (UNITS_MS[span[2] ?? ''] ?? 0)
  if (Number.isNaN(at) || (span === null && !/^\d{4}-/.test(text)))
    throw new BadUsage('--expires must be a date, a time such as 30d, or "never"')
  return new Date(at).toISOString()
}

function keyPath(input: Input): string {
  return `/keys/${encodeURIComponent(input.args[0] ?? '')}`
}

function cell(value: unknown): Cell {
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(String).join(', ')
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as Cell)
}

function done(print: () => void): number {
  print()
  return 0
}
