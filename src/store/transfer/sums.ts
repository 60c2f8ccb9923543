// What is compared of a table after the copy: the number of rows, and for every column the number of values and their sum, for
// texts the sum of their bytes. Exact on both engines, whatever the sums.
import type { TransferColumn, TransferTable } from './plan.ts'

type Engine = 'sqlite' | 'postgres'

// One expression after the other, in the same order on both engines.
export function sumsOf(table: TransferTable, engine: Engine): readonly string[] {
  return ['COUNT(*) AS n', ...table.columns.flatMap((column, i) => columnSums(column, engine, `c${i}`))]
}

// Labels of the sums of `sumsOf`, for messages about differences.
export function sumNames(table: TransferTable): readonly string[] {
  return ['rows', ...table.columns.flatMap(({ name, kind }) => Array(kind === 'integer' ? 3 : 2).fill(name))]
}

// In two halves: the sum of a million balances may exceed what SQLite can add.
const HALF = 1_000_000_000

function columnSums({ name, kind }: TransferColumn, engine: Engine, as: string): readonly string[] {
  const count = `COUNT(${name}) AS ${as}n`
  if (kind === 'integer') {
    return [count, `COALESCE(SUM(${name} / ${HALF}), 0) AS ${as}h`, `COALESCE(SUM(${name} % ${HALF}), 0) AS ${as}l`]
  }
  const bytes = engine === 'postgres' ? `octet_length(${name})` : kind === 'text' ? textBytes(name) : `length(${name})`
  return [count, `COALESCE(SUM(${bytes}), 0) AS ${as}b`]
}

// SQLite's own length of a text ends at a NUL, which Postgres does not have.
function textBytes(name: string): string {
  const bytes = `CAST(${name} AS BLOB)`
  return `CASE WHEN instr(${bytes}, x'00') > 0 THEN storable_bytes(${name}) ELSE length(${bytes}) END`
}

// Postgres texts cannot contain NUL: the replacement is the one that the gateway itself writes there.
export function storableText(text: string): string {
  return text.includes('\u0000') ? text.replaceAll('\u0000', '\ufffd') : text
}
