// Writes rows to Postgres by COPY, the fastest way: each row a line of text, many lines at once.
import type { PoolClient, QueryResult, Submittable } from 'pg'
import type { Value } from './source.ts'
import { storableText } from './sums.ts'

type Wire = { sendCopyFromChunk(chunk: Buffer): void; endCopyFrom(): void }

export async function copyInto(
  client: PoolClient,
  table: string,
  columns: readonly string[],
  lines: readonly string[],
): Promise<void> {
  if (lines.length === 0) return
  const { default: pg } = await import('pg')
  await new Promise<void>((resolve, reject) => {
    const done = (error: Error | undefined, _result?: QueryResult) => (error ? reject(error) : resolve())
    const text = `COPY ${table} (${columns.join(', ')}) FROM STDIN`
    // The driver supports COPY except for the source of the rows.
    const query = new (pg.Query as unknown as new (text: string, done: unknown) => Submittable)(text, done)
    client.query(
      Object.assign(query, {
        handleCopyInResponse(wire: Wire) {
          wire.sendCopyFromChunk(Buffer.from(lines.join('')))
          wire.endCopyFrom()
        },
      }),
    )
  })
}

export function copyLine(row: readonly Value[]): string {
  return `${row.map(field).join('\t')}\n`
}

function field(value: Value): string {
  if (value === null) return '\\N'
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string') return /[\\\t\n\r\0]/.test(value) ? escaped(storableText(value)) : value
  return `\\\\x${Buffer.from(value).toString('hex')}`
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

function escaped(text: string): string {
  return text.replace(/[\\\t\n\r]/g, character => ESCAPES[character] ?? character)
}
