// Exports usage records to a file or to stdout, page by page or as a CSV stream, with constant memory.
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { BadUsage, Failed, type Input } from '../command.ts'
import type { Client, Json } from '../http-client.ts'
import { type Progress, progress } from '../progress.ts'
import { usageQuery } from './filters.ts'

const PAGE_ROWS = 1000

// A file gets its name only when it is complete.
export async function exportUsage(input: Input, client: Client): Promise<number> {
  const query = usageQuery(input)
  const output = input.text('output')
  const file = output === undefined ? undefined : resolve(output)
  if (file !== undefined && existsSync(file)) throw new Failed(`${file} already exists`)
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
    const { data, has_more: hasMore, next_after: next } = await client.call('GET', `/usage?${page}`)
    const rows = data as readonly Json[]
    yield { bytes: Buffer.from(rows.map(row => `${JSON.stringify(row)}\n`).join('')), rows: rows.length }
    const last = rows.at(-1)
    if (hasMore !== true || last === undefined) return
    const after = String(next ?? last.request_id)
    if (page.get('after') === after) throw new Failed('the gateway repeats a page; the export is not complete')
    page.set('after', after)
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

// The number of rows, for the progress bar only: unknown where there are too many for a sum by error code.
async function total(client: Client, query: URLSearchParams): Promise<number | undefined> {
  if (!process.stderr.isTTY) return undefined
  const path = `/usage/summary?${query}${query.size === 0 ? '' : '&'}group_by=account`
  const sums = await client.call('GET', path).catch((error: Error) => {
    if (error instanceof BadUsage && query.has('error_code')) return { data: undefined }
    throw error
  })
  if (sums.data === undefined) return undefined
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
