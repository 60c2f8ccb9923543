// Shared by the commands of the admin API: request bodies from options, secrets from the environment or stdin, and output.
import { readSecretVariable } from '../config/command-env.ts'
import { BUDGET_WINDOWS } from '../domain/budget.ts'
import { parseCredits } from '../domain/credits.ts'
import { BadUsage, type Input, lineFromStdin, type Option } from './command.ts'
import type { Client, Json } from './http-client.ts'
import { type Cell, printFields, printJson, printTable } from './output.ts'

export const SET_OPTIONS: Readonly<Record<string, Option>> = {
  set: {
    value: 'KEY=VALUE',
    multiple: true,
    about: 'set any field of the configuration file, as JSON or plain text; repeatable',
  },
}

export const CHANGE_OPTIONS: Readonly<Record<string, Option>> = {
  unset: { value: 'KEY', multiple: true, about: 'reset a field to its default; repeatable' },
  status: { value: 'STATUS', about: 'active or inactive' },
}

export const VERSION_OPTION: Readonly<Record<string, Option>> = {
  'if-version': { value: 'N', about: 'fail if the version has changed' },
}

export const PAGE_OPTIONS: Readonly<Record<string, Option>> = {
  limit: { value: 'N', about: 'maximum number of rows (default 50)' },
  after: { value: 'ID', about: 'start after this entry' },
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

export async function showList(
  client: Client,
  path: string,
  columns: readonly string[],
  input: Input,
): Promise<number> {
  const query = new URLSearchParams(path.split('?')[1])
  for (const name of ['limit', 'after']) {
    const value = input.text(name)
    if (value !== undefined) query.set(name, value)
  }
  const answer = await client.call('GET', `${path.split('?')[0]}?${query}`)
  if (input.json) {
    printJson(answer)
    return 0
  }
  const rows = answer.data as readonly Json[]
  printTable(
    columns,
    rows.map(row => columns.map(column => cell(row[column]))),
  )
  if (answer.has_more === true)
    process.stderr.write(`More rows: --after ${rows.at(-1)?.id ?? rows.at(-1)?.request_id}\n`)
  return 0
}

// A secret is printed last, with a warning that it is shown only once. An empty body means success.
export function showOne(object: Json, input: Input): number {
  const shown = Object.entries(object).filter(([name]) => name !== 'object')
  const [secrets, others] = [shown.filter(isSecret), shown.filter(each => !isSecret(each))]
  if (input.json) printJson(shown.length === 0 ? { ok: true } : object)
  else printFields([...others, ...secrets].map(([name, value]) => [name, cell(value)]))
  for (const [name] of input.json ? [] : secrets) {
    process.stderr.write(`Save the ${name} now. It is not stored and cannot be shown again.\n`)
  }
  if (shown.length === 0 && !input.json) process.stderr.write('done\n')
  return 0
}

function isSecret([name]: readonly [string, unknown]): boolean {
  return name === 'secret' || name === 'token'
}

export function cell(value: unknown): Cell {
  if (!Array.isArray(value)) return typeof value === 'object' && value !== null ? pairs(value) : (value as Cell)
  return value.length === 0
    ? '-'
    : value.map(each => (typeof each === 'object' ? pairs(each) : String(each))).join(', ')
}

// Formats an object as `prompt=0.1 completion=0.2`, what is inside of it in brackets. Amounts as entered are left out: those in
// force are next to them.
function pairs(object: object | null): string {
  const isShown = (name: string) => name !== 'object' && !name.startsWith('entered_')
  const shown = Object.entries(object ?? {}).filter(([name, value]) => isShown(name) && value !== null)
  const text = shown.map(([name, value]) => `${name}=${typeof value === 'object' ? `[${nested(value)}]` : value}`)
  return text.length === 0 ? '-' : text.join(' ')
}

function nested(value: object): string {
  return Array.isArray(value)
    ? value.map(each => (typeof each === 'object' ? pairs(each) : String(each))).join('; ')
    : pairs(value)
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
