// Shared by the commands of the admin API: request bodies from options, and secrets from the environment or stdin.
import { readSecretVariable } from '../config/command-env.ts'
import { BUDGET_WINDOWS } from '../domain/budget.ts'
import { parseCredits } from '../domain/credits.ts'
import { BadUsage, type Input, type Option } from './command.ts'
import type { Json } from './http-client.ts'
import { lineFromStdin } from './stdin.ts'

export const SET_OPTIONS: Readonly<Record<string, Option>> = {
  set: {
    value: 'KEY=VALUE',
    multiple: true,
    about: 'set any field of the configuration file, as JSON or plain text; repeatable',
  },
}

export const CHANGE_OPTIONS: Readonly<Record<string, Option>> = {
  unset: { value: 'KEY', multiple: true, about: 'reset a field to its default; repeatable' },
  status: { value: 'STATUS', about: 'active or inactive', values: ['active', 'inactive'] },
}

export const VERSION_OPTION: Readonly<Record<string, Option>> = {
  'if-version': { value: 'N', about: 'fail if the version has changed' },
}

export const SECRET_OPTIONS: Readonly<Record<string, Option>> = {
  'api-key-env': { value: 'NAME', about: 'environment variable that holds the API key' },
  'api-key-stdin': { about: 'read the API key from stdin' },
}

// Field names that may hold a secret.
const SECRET_KEY = /^\W*(?:api[-_]?keys?|credentials?|secrets?|tokens?|passwords?)(?:\W|$)/i
const SECRET_CHARS_MAX = 16_384

// Never read from an argument, which every user of the machine can see.
export async function readSecret(input: Input): Promise<string | undefined> {
  const name = input.text('api-key-env')
  if (input.flag('api-key-stdin')) {
    if (name !== undefined || input.flag('token-stdin')) throw new BadUsage('only one secret can be read from stdin')
    const line = await lineFromStdin(SECRET_CHARS_MAX)
    return line === '' ? fail('no API key on stdin') : line
  }
  return name === undefined
    ? undefined
    : (readSecretVariable(name) ?? fail(`the environment variable ${name} is not set`))
}

// Builds the body from named options, then --set, --unset and --status.
export function readDocument(input: Input, named: Json): Json {
  const document: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(named)) if (value !== undefined) document[key] = value
  for (const pair of input.texts('set') ?? []) {
    const at = pair.indexOf('=')
    if (at < 1) throw new BadUsage('--set must be KEY=VALUE')
    const key = pair.slice(0, at)
    if (SECRET_KEY.test(key)) {
      throw new BadUsage(
        `--set ${key} is not allowed, because every user of the machine can see arguments; use --api-key-env or --api-key-stdin`,
      )
    }
    document[key] = jsonOrText(pair.slice(at + 1))
  }
  for (const key of input.texts('unset') ?? []) document[key] = null
  const status = input.text('status')
  return status === undefined ? document : { ...document, status }
}

// An update without any field is a usage error.
export function something(body: Json): Json {
  if (Object.values(body).every(value => value === undefined)) throw new BadUsage('no changes given')
  return body
}

export function readCount(input: Input, name: string): number | undefined {
  const text = input.text(name)
  if (text !== undefined && !/^\d{1,15}$/.test(text)) throw new BadUsage(`--${name} must be a whole number`)
  return text === undefined ? undefined : Number(text)
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

// `30m`, `24h` or `7d`, in milliseconds; undefined for any other text.
export function spanMs(text: string): number | undefined {
  const match = /^(\d{1,6})([mhd])$/.exec(text)
  return match === null ? undefined : Number(match[1]) * (UNITS_MS[match[2] ?? ''] ?? 0)
}

// `team=search`.
export function readTag(text: string): readonly [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new BadUsage('--tag must be NAME=VALUE')
  return [text.slice(0, at), text.slice(at + 1)]
}

export const BUDGET_OPTION: Readonly<Record<string, Option>> = {
  budget: {
    value: 'WINDOW=CREDITS',
    multiple: true,
    about:
      'spending limit per hour, day, week, month or in total, such as "month=25"; "month=20:alert" raises events and blocks nothing; "none" removes all; repeatable',
  },
}

// `month=25`, `day=5:alert`; together they replace all budgets.
export function readBudgets(input: Input): readonly Json[] | undefined {
  const texts = input.texts('budget')
  return texts?.filter(text => text !== 'none').map(readBudget)
}

function readBudget(text: string): Json {
  const [, window, amount, action = 'block'] = /^(\w+)=([\d.]+)(?::(block|alert))?$/.exec(text) ?? []
  const isWindow = BUDGET_WINDOWS.some(name => name === window)
  if (!isWindow || amount === undefined || parseCredits(amount) === undefined)
    throw new BadUsage(`--budget must be WINDOW=CREDITS, with one of ${BUDGET_WINDOWS.join(', ')}: "month=25"`)
  return { window, amount, action }
}

export function ifMatch(input: Input): Readonly<Record<string, string>> {
  const version = readCount(input, 'if-version')
  return version === undefined ? {} : { 'if-match': `"${version}"` }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function fail(message: string): never {
  throw new BadUsage(message)
}
