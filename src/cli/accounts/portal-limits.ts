// The limits within which the customer of an account creates keys: shows them, or changes the given ones and keeps the others.
import { parseCredits } from '../../domain/credits.ts'
import { pathOf } from '../call-command.ts'
import { BadUsage, type Input, type Option } from '../command.ts'
import { ifMatch, readCount, VERSION_OPTION } from '../document.ts'
import type { Client, Json } from '../http-client.ts'
import { showOne } from '../show.ts'

export const PORTAL_LIMIT_OPTIONS: Readonly<Record<string, Option>> = {
  'max-keys': { value: 'N', about: 'number of active keys of the account, or "none"' },
  rpm: { value: 'N', about: 'highest requests per minute of a key, or "none"' },
  daily: { value: 'N', about: 'highest requests per UTC day of a key, or "none"' },
  'max-concurrent': { value: 'N', about: 'highest number of concurrent requests of a key, or "none"' },
  'credit-limit': { value: 'CREDITS', about: 'highest credit limit of a key, or "none"' },
  'expires-in-days': { value: 'N', about: 'days within which a key must expire, or "none"' },
  model: {
    value: 'ID',
    multiple: true,
    about: 'allowed model or a pattern such as "gpt-4o*", or "any"; repeatable, replaces the list',
  },
  none: { about: 'remove all limits' },
  ...VERSION_OPTION,
}

const COUNTS = {
  'max-keys': 'max_keys',
  rpm: 'rpm_limit',
  daily: 'daily_limit',
  'max-concurrent': 'max_concurrent',
  'expires-in-days': 'expires_in_days',
} as const

// Mistakes in options, before the gateway is asked.
export function checkPortalLimits(input: Input): void {
  const isChange = Object.keys(changesOf(input)).length > 0
  if (input.flag('none') && isChange) throw new BadUsage('pass --none alone: it removes all limits')
  if (!input.flag('none') && !isChange && input.text('if-version') !== undefined) throw new BadUsage('no changes given')
}

// The API replaces all limits at once. They are written only if the account is still what was read, so that a limit that somebody
// else sets meanwhile is not lost.
export async function portalLimits(input: Input, client: Client): Promise<number> {
  const path = pathOf('accounts', input)
  const account = await client.call('GET', path)
  const changes = changesOf(input)
  const isChange = input.flag('none') || Object.keys(changes).length > 0
  if (!isChange) return show(account, input)
  const limits = input.flag('none') ? null : { ...(account.portal_key_limits as Json | null), ...changes }
  const headers = { 'if-match': `"${account.version}"`, ...ifMatch(input) }
  return show(await client.call('PATCH', path, { portal_key_limits: limits }, headers), input)
}

function show({ id, name, portal_key_limits: limits, version }: Json, input: Input): number {
  return showOne({ account_id: id, name, portal_key_limits: limits, version }, input)
}

function changesOf(input: Input): Json {
  const [credits, models] = [input.text('credit-limit'), input.texts('model')]
  if (credits !== undefined && credits !== 'none' && parseCredits(credits) === undefined)
    throw new BadUsage('--credit-limit must be a decimal number such as 10 or 0.25, or "none"')
  const counts = Object.entries(COUNTS)
    .map(([option, field]) => [field, input.text(option) === 'none' ? null : readCount(input, option)] as const)
    .filter(([, count]) => count !== undefined)
  return {
    ...Object.fromEntries(counts),
    ...(credits === undefined ? {} : { credit_limit: credits === 'none' ? null : credits }),
    ...(models === undefined ? {} : { allowed_models: models.filter(model => model !== 'any') }),
  }
}
