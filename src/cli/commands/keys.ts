// `turnpike keys …`: API keys. A secret is printed only when it is created.
import { systemClock } from '../../lib/clock.ts'
import { callCommand, listCommand, pathOf, sortFilters } from '../call-command.ts'
import { BadUsage, type Command, type Input, type Option } from '../command.ts'
import {
  BUDGET_OPTION,
  ifMatch,
  readBudgets,
  readCount,
  readTag,
  something,
  spanMs,
  VERSION_OPTION,
} from '../document.ts'
import type { Json } from '../http-client.ts'

const LIMITS: Readonly<Record<string, Option>> = {
  scope: {
    value: 'SCOPE',
    multiple: true,
    about: 'chat.completions, embeddings or models.read; repeatable',
    values: ['chat.completions', 'embeddings', 'models.read'],
  },
  'allow-ip': {
    value: 'RANGE',
    multiple: true,
    about: 'allowed IP address or CIDR range, or "any"; repeatable',
  },
  rpm: { value: 'N', about: 'requests per minute' },
  daily: { value: 'N', about: 'requests per UTC day, or "none"' },
  'credit-limit': { value: 'CREDITS', about: 'lifetime spending limit, or "none"' },
  ...BUDGET_OPTION,
  'max-concurrent': { value: 'N', about: 'maximum number of concurrent requests' },
  model: {
    value: 'ID',
    multiple: true,
    about: 'allowed model or a pattern such as "gpt-4o*", or "any"; repeatable',
  },
  tag: { value: 'NAME=VALUE', multiple: true, about: 'tag of its requests, or "none"; repeatable' },
  expires: {
    value: 'WHEN',
    about: 'a date such as 2030-01-31T12:00:00Z, a duration such as 30d or 12h, or "never"',
  },
}

const KEY = { takes: [1, 1], names: 'key' } as const
const STATUS: Option = {
  value: 'STATUS',
  about: 'active, revoked, expired, or stopped by a limit or budget of the key',
  values: ['active', 'revoked', 'expired', 'stopped'],
}

export const commands: Readonly<Record<string, Command>> = {
  create: callCommand(
    {
      usage: 'keys create NAME [options]',
      about: 'Creates a key and prints its secret, which is shown only once.',
      examples: [
        'turnpike keys create production --account acme --budget month=25',
        'turnpike keys create ci --model "gpt-4o*" --rpm 60 --expires 30d',
      ],
      options: {
        account: { value: 'ACCOUNT', about: 'account to charge (default: the default account)', names: 'account' },
        ...LIMITS,
      },
      takes: [1, 1],
    },
    input => ({
      method: 'POST',
      path: '/keys',
      body: { name: input.args[0], account_id: input.text('account'), ...limits(input) },
    }),
  ),
  list: listCommand(
    {
      usage: 'keys list [options]',
      about: 'Lists keys, newest first.',
      examples: [
        'turnpike keys list --account acme --status active',
        'turnpike keys list --sort last_used --limit 20',
        'turnpike keys list --columns name,state,spent_this_month,last_used_at',
      ],
    },
    {
      path: () => '/keys',
      columns: [
        ...['id', 'name', 'label', 'state', 'account_id', 'spent_this_month'],
        ...['rpm_limit', 'daily_limit', 'credit_limit', 'last_used_at'],
      ],
      extra: [
        ...['status', 'spent', 'max_concurrent', 'scopes', 'allowed_models', 'ip_allowlist', 'tags'],
        ...['created_at', 'expires_at', 'revoked_at', 'version'],
      ],
      first: ['id', 'name', 'state', 'spent_this_month', 'last_used_at', 'label', 'credit_limit', 'account_id'],
      filters: {
        status: STATUS,
        account: { value: 'ACCOUNT', about: 'only keys of this account', query: 'account_id', names: 'account' },
        search: { value: 'TEXT', about: 'part of the name, ID or last four characters', query: 'q' },
        ...sortFilters(['name', 'last_used', 'spent']),
      },
    },
  ),
  show: callCommand(
    {
      usage: 'keys show KEY',
      about: 'Shows one key, by its ID, its name or the last four characters of its secret.',
      examples: ['turnpike keys show production'],
      ...KEY,
    },
    input => ({ method: 'GET', path: pathOf('keys', input) }),
  ),
  update: callCommand(
    {
      usage: 'keys update KEY [options]',
      about: 'Changes the given fields only. Takes effect with the next request.',
      examples: ['turnpike keys update production --rpm 600 --budget month=50'],
      options: { name: { value: 'NAME', about: 'new name' }, ...LIMITS, ...VERSION_OPTION },
      ...KEY,
    },
    input => ({
      method: 'PATCH',
      path: pathOf('keys', input),
      body: something({ name: input.text('name'), ...limits(input) }),
      headers: ifMatch(input),
    }),
  ),
  rotate: callCommand(
    {
      usage: 'keys rotate KEY',
      about: 'Creates a new secret and prints it once. The old secret keeps working for 60 minutes.',
      examples: ['turnpike keys rotate production'],
      ...KEY,
    },
    input => ({ method: 'POST', path: pathOf('keys', input, '/rotate'), body: {} }),
  ),
  'end-grace': callCommand(
    {
      usage: 'keys end-grace KEY [options]',
      about: 'Ends the grace period of old secrets immediately.',
      examples: ['turnpike keys end-grace production', 'turnpike keys end-grace production --last4 x7Qa'],
      options: { last4: { value: 'XXXX', about: 'only the secret that ends in these four characters' } },
      confirms: 'End the old secrets of the key',
      ...KEY,
    },
    input => ({ method: 'POST', path: pathOf('keys', input, '/end-grace'), body: { last4: input.text('last4') } }),
  ),
  'reset-day': callCommand(
    {
      usage: 'keys reset-day KEY',
      about: 'Resets the daily request count of a key to zero.',
      examples: ['turnpike keys reset-day production'],
      ...KEY,
    },
    input => ({ method: 'POST', path: pathOf('keys', input, '/reset-day'), body: {} }),
  ),
  revoke: callCommand(
    {
      usage: 'keys revoke KEY [options]',
      about: 'Revokes a key permanently. Requests that have already started can finish.',
      examples: ['turnpike keys revoke production', 'turnpike keys revoke x7Qa --abort-streams'],
      options: { 'abort-streams': { about: 'abort running requests within a second' } },
      confirms: 'Revoke the key',
      ...KEY,
    },
    input => ({
      method: 'POST',
      path: pathOf('keys', input, '/revoke'),
      body: input.flag('abort-streams') ? { abort_streams: true } : {},
    }),
  ),
}

function limits(input: Input): Json {
  return {
    scopes: input.texts('scope'),
    ip_allowlist: input.texts('allow-ip')?.filter(range => range !== 'any'),
    rpm_limit: readCount(input, 'rpm'),
    daily_limit: input.text('daily') === 'none' ? null : readCount(input, 'daily'),
    credit_limit: input.text('credit-limit') === 'none' ? null : input.text('credit-limit'),
    budgets: readBudgets(input),
    max_concurrent: readCount(input, 'max-concurrent'),
    allowed_models: input.texts('model')?.filter(model => model !== 'any'),
    tags: tagsOf(input.texts('tag')),
    expires_at: expiry(input.text('expires')),
  }
}

function tagsOf(texts: readonly string[] | undefined): Json | undefined {
  return texts && Object.fromEntries(texts.filter(text => text !== 'none').map(readTag))
}

function expiry(text: string | undefined): string | null | undefined {
  if (text === undefined || text === 'never') return text === undefined ? undefined : null
  const span = spanMs(text)
  const at = span === undefined ? Date.parse(text) : systemClock.now() + span
  if (Number.isNaN(at) || (span === undefined && !/^\d{4}-/.test(text)))
    throw new BadUsage('--expires must be a date, a duration such as 30d, or "never"')
  return new Date(at).toISOString()
}
