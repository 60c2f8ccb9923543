// `turnpike usage …`: lists, shows, sums and exports usage records.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { callCommand, clientCommand, type Filters, filterQuery, listCommand, pathOf } from '../call-command.ts'
import { type Command, Failed, type Input } from '../command.ts'
import { readTag, showList } from '../document.ts'
import { type Client, type Json, openClient } from '../http-client.ts'
import { type Progress, progress } from '../progress.ts'

const FILTERS: Filters = {
  from: { value: 'TIME', about: 'at or after this time, such as 2026-01-31 or 2026-01-31T12:00:00Z' },
  to: { value: 'TIME', about: 'before this time' },
  key: { value: 'ID', about: 'only this key', query: 'key_id' },
  account: { value: 'ID', about: 'only this account', query: 'account_id' },
  model: { value: 'ID', about: 'only this model' },
  provider: { value: 'ID', about: 'only this provider' },
  endpoint: { value: 'NAME', about: 'only this endpoint, or "all" (default: chat.completions)' },
  tag: {
    value: 'NAME=VALUE',
    multiple: true,
    about: 'only requests with this tag; repeatable',
    written: text => readTag(text).join(':'),
  },
  outcome: { value: 'OUTCOME', about: 'completed, client_left, upstream_failed, upstream_broke, refused or recovered' },
}

export const commands: Readonly<Record<string, Command>> = {
  list: listCommand(
    { usage: 'usage list [options]', about: 'Lists usage records, newest first.' },
    {
      path: () => '/usage',
      columns: [
        'created_at',
        'request_id',
        'key_id',
        'model_served',
        'provider',
        'outcome',
        'http_status',
        'prompt_tokens',
        'completion_tokens',
        'cost',
      ],
      filters: FILTERS,
    },
  ),
  show: callCommand(
    {
      usage: 'usage show REQUEST_ID',
      about: 'Shows the usage record of one request, by its X-Request-Id.',
      takes: [1, 1],
    },
    input => ({ method: 'GET', path: pathOf('usage', input) }),
  ),
  summary: clientCommand(
    {
      usage: 'usage summary [options]',
      about: 'Sums usage records by time, by a dimension or by a tag.',
      options: {
        by: {
          value: 'GROUP',
          about: 'day, hour, model, provider, key, account, or a tag such as tag:team (default day)',
        },
        ...FILTERS,
      },
    },
    async input => {
      const query = filterQuery(input, FILTERS)
      query.set('group_by', input.text('by') ?? 'day')
      return showList(await openClient(input), `/usage/summary?${query}`, SUMMARY_COLUMNS, input)
    },
  ),
  export: clientCommand(
    {
      usage: 'usage export [options]',
      about: 'Exports usage records, newest first, as CSV or (with --json) one JSON object per line.',
      options: {
        ...FILTERS,
        output: { value: 'FILE', about: 'write to this file, which must not exist (default: stdout)' },
      },
    },
    input => exportUsage(input, FILTERS),
  ),
}

const SUMMARY_COLUMNS = [
  ...['group', 'requests', 'errors', 'prompt_tokens', 'completion_tokens'],
  ...['cost', 'upstream_cost', 'margin', 'requests_without_upstream_cost'],
]

// Page by page or as a CSV stream, with constant memory. A file gets its name only when it is complete.
const PAGE_ROWS = 1000

export async function exportUsage(input: Input, filters: Filters): Promise<number> {
  const query = filterQuery(input, filters)
  const output = input.text('output')
  const file = output === undefined ? undefined : resolve(output)
  if (file !== undefined && existsSync(file)) throw new Failed(`${file} already exists`)
  const client = await openClient(input)
  const bar = progress('rows')
  try {
    const pieces = counted(input.json ? jsonLines(client, query) : csv(client, query), await total(client, query), bar)
    await (file === undefined ? writeOut(pieces) : writeFile(pieces, file))
  } finally {
    bar.end()
  }
  return 0
}

type Piece = { readonly bytes: Uint8Array; readonly rows: number }

async function* jsonLines(client: Client, query: URLSearchParams): AsyncGenerator<Piece> {
  const page = new URLSearchParams(query)
  page.set('limit', String(PAGE_ROWS))
  for (;;) {
    const { data, has_more: hasMore } = await client.call('GET', `/usage?${page}`)
    const rows = data as readonly Json[]
    yield { bytes: Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join('')), rows: rows.length }
    const last = rows.at(-1)
    if (hasMore !== true || last === undefined) return
    page.set('after', String(last.request_id))
  }
}

async function* csv(client: Client, query: URLSearchParams): AsyncGenerator<Piece> {
  for await (const bytes of client.stream(`/usage?${query}`, 'text/csv')) {
    yield { bytes, rows: bytes.reduce((lines, byte) => (byte === LF ? lines + 1 : lines), 0) }
  }
}

const LF = 10

async function* counted(
  pieces: AsyncGenerator<Piece>,
  total: number | undefined,
  bar: Progress,
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const { bytes, rows } of pieces) {
    yield bytes
    done += rows
    bar.show(done, total)
  }
}

// The number of rows, for the progress bar only.
async function total(client: Client, query: URLSearchParams): Promise<number | undefined> {
  if (!process.stderr.isTTY) return undefined
  const sums = await client.call('GET', `/usage/summary?${query}${query.size === 0 ? '' : '&'}group_by=account`)
  return (sums.data as readonly Json[]).reduce((sum, row) => sum + Number(row.requests), 0)
}

async function writeFile(pieces: AsyncIterable<Uint8Array>, file: string): Promise<void> {
  const part = `${file}.part`
  const handle = await open(part, 'w', 0o600)
  try {
    for await (const bytes of pieces) await handle.appendFile(bytes)
    await handle.close()
    await rename(part, file)
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(part, { force: true })
    throw error
  }
}

// Waits for a slow reader and stops when the reader closes the pipe.
async function writeOut(pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const { stdout } = process
  for await (const bytes of pieces) {
    if (stdout.destroyed) return
    if (!stdout.write(bytes) && !(await drained(stdout))) return
  }
}

// Resolves to false if the stream has closed; its errors are reported by its error handler.
async function drained(stream: Writable): Promise<boolean> {
  const waiting = new AbortController()
  const { signal } = waiting
  try {
    await Promise.race([once(stream, 'drain', { signal }), once(stream, 'close', { signal })])
    return !stream.destroyed
  } catch {
    return false
  } finally {
    waiting.abort()
  }
}
