// Prints requests as lines and follows new ones. A gateway that restarts is waited for.
import { setTimeout } from 'node:timers/promises'
import { styleText } from 'node:util'
import { escapeUnseen } from '../../lib/text.ts'
import { BadUsage, Failed, type Input } from '../command.ts'
import { readCount } from '../document.ts'
import type { Client, Json } from '../http-client.ts'
import { type ObjectNames, objectNames } from '../object-names.ts'
import { clean } from '../output.ts'
import { FAILURES, usageQuery } from './filters.ts'
import { createdAt, finishedAt, isSettled, usagePoller, withLimit } from './poller.ts'

const POLL_MS = 1000
const RETRY_MS = 3000
// As many as a poll reads, or the first one would find older rows and take them for new.
const KNOWN_ROWS = 1000

export async function showLogs(input: Input, client: Client): Promise<number> {
  const limit = readCount(input, 'limit') ?? 20
  if (limit > 1000) throw new BadUsage('--limit must be at most 1000')
  const query = usageQuery(input)
  const print = linePrinter(input, objectNames(client))
  const isFollowing = input.flag('follow')
  const read = async (of: URLSearchParams, rows: number) =>
    (await client.call('GET', `/usage?${withLimit(of, rows)}`)).data as readonly Json[]
  // What is there already is not new, even if it is not printed.
  const known = isFollowing ? await read(withoutEnd(query), KNOWN_ROWS) : []
  const past = isFollowing && !ENDS.some(name => query.has(name)) ? known : await read(query, Math.max(limit, 1))
  await print(past.slice(0, limit).filter(isSettled).toReversed())
  if (isFollowing) await follow(query, latestOf([...known, ...past]), print, client)
  return 0
}

const ENDS = ['outcome', 'error_code']

// A running request has no outcome and no error code yet, so these filters are applied to what is read.
function withoutEnd(query: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !ENDS.includes(name)))
}

// A row that was read twice may have been settled in between.
function latestOf(rows: readonly Json[]): readonly Json[] {
  return [...new Map(rows.map(row => [row.request_id, row])).values()]
}

function isFailure({ outcome }: Json): boolean {
  return FAILURES.includes(String(outcome))
}

type Print = (rows: readonly Json[]) => Promise<void>

// Until the process is interrupted, or its reader is gone.
async function follow(query: URLSearchParams, past: readonly Json[], print: Print, client: Client): Promise<void> {
  const [outcome, codes] = [query.get('outcome'), query.getAll('error_code')]
  const isMeant = (row: Json) =>
    (outcome === null || row.outcome === outcome || (outcome === 'failed' && isFailure(row))) &&
    (codes.length === 0 || codes.includes(String(row.error_code)))
  const poll = usagePoller(withoutEnd(query), past, client)
  let [isLost, isGone] = [false, false]
  process.stdout.once('error', () => {
    isGone = true
  })
  while (!isGone) {
    try {
      const { settled, missed } = await poll()
      if (isLost) process.stderr.write('connected again\n')
      isLost = false
      await print(settled.filter(isMeant))
      if (missed) process.stderr.write('… there were more requests than can be shown\n')
    } catch (error) {
      if (!isPassing(error)) throw error
      if (!isLost) process.stderr.write(`${clean((error as Error).message)}; retrying\n`)
      isLost = true
    }
    await setTimeout(isLost ? RETRY_MS : POLL_MS)
  }
}

// A gateway that restarts refuses connections or returns 5xx; anything else will not get better.
function isPassing(error: unknown): boolean {
  return error instanceof Failed && (error.status === undefined || error.status === 429 || error.status >= 500)
}

function linePrinter(input: Input, names: ObjectNames): Print {
  const write = (text: string) => void process.stdout.write(text)
  if (input.json) return async rows => write(rows.map(row => `${escapeUnseen(JSON.stringify(row))}\n`).join(''))
  const line = process.stdout.isTTY ? terminalLine : tabbedLine
  return async rows => {
    const accounts = await names.ofAll(
      'account',
      rows.map(row => String(row.account_id)),
    )
    const keys = await names.ofAll(
      'key',
      rows.map(row => String(row.key_id)),
    )
    write(rows.map((row, at) => line(row, accounts[at] ?? '', keys[at] ?? '')).join(''))
  }
}

function tabbedLine(row: Json, account: string, key: string): string {
  const fields = [
    ...[row.finished_at ?? row.created_at, row.http_status, row.outcome, row.model_served ?? row.model_requested],
    ...[row.provider, account, key, row.prompt_tokens, row.completion_tokens, row.cost, row.request_id],
    row.error_message ?? row.error_code,
  ]
  return `${fields.map(field => clean(field as string | number | null)).join('\t')}\n`
}

function terminalLine(row: Json, account: string, key: string): string {
  const time = String(row.finished_at ?? row.created_at).slice(11, 19)
  const status = Number(row.http_status)
  const colour = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green'
  const took = row.finished_at === null ? '' : ` ${finishedAt(row) - createdAt(row)} ms`
  const facts = [
    `${time}Z`,
    styleText(colour, String(row.http_status ?? '-')),
    styleText('bold', clean((row.model_served ?? row.model_requested) as string | null)),
    `${clean(account)}/${clean(key)}`,
    `${row.prompt_tokens}+${row.completion_tokens} tokens`,
    `${row.cost} credits${took}`,
    styleText('dim', String(row.request_id)),
  ]
  const why = row.error_message ?? row.error_code
  const error = why === null || why === undefined ? '' : `\n           ${styleText(colour, clean(String(why)))}`
  return `${facts.join('  ')}${error}\n`
}
