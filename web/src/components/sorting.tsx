// Sorting of lists by a click on the head of a column: here where all rows are loaded, otherwise by the server.
import { UnstyledButton } from '@mantine/core'
import { IconArrowDown, IconArrowsSort, IconArrowUp } from '@tabler/icons-react'
import { type ReactNode, useState } from 'react'
import type { SortQuery } from '../api/queries.ts'
import type { Column } from './table-frame.tsx'

export type Sort = { readonly by: string; readonly isDescending: boolean }

export function useSort(by: string, isDescending = true) {
  const [sort, setSort] = useState<Sort>({ by, isDescending })
  return { sort, setSort }
}

type SortableHeadProps = {
  readonly name: string
  readonly label: string
  readonly sort: Sort
  readonly onSort: (sort: Sort) => void
}

// Numbers begin with the highest, a second click turns the order around.
export function SortableHead({ name, label, sort, onSort }: SortableHeadProps): ReactNode {
  const isBy = sort.by === name
  const Icon = isBy ? (sort.isDescending ? IconArrowDown : IconArrowUp) : IconArrowsSort
  const order = isBy ? (sort.isDescending ? ', sorted descending' : ', sorted ascending') : ''
  return (
    <UnstyledButton
      fz="inherit"
      fw={isBy ? 600 : 500}
      c={isBy ? undefined : 'inherit'}
      aria-label={`Sort by ${label}${order}`}
      onClick={() => onSort({ by: name, isDescending: isBy ? !sort.isDescending : true })}
    >
      {label} <Icon size={12} style={{ verticalAlign: -1, opacity: isBy ? 1 : 0.45 }} aria-hidden />
    </UnstyledButton>
  )
}

// Columns whose lower-case name is compared get a head that sorts. While there are more rows than are loaded, those that the server
// sorts by: `sorted` has its names of them.
export function sortable(
  columns: readonly Column[],
  compared: object,
  { sort, setSort }: Sorting,
  sorted?: Readonly<Record<string, string>>,
): readonly Column[] {
  return columns.map(column => {
    const by = column.name.toLowerCase()
    if (!Object.hasOwn(compared, by)) return column
    if (sorted !== undefined && !Object.hasOwn(sorted, by))
      return { ...column, head: <span title="Load all rows to sort by this column.">{column.name}</span> }
    return { ...column, head: <SortableHead name={by} label={column.name} sort={sort} onSort={setSort} /> }
  })
}

// What the server sorts by, as parameters of the list.
export function sortQuery({ by, isDescending }: Sort, sorted: Readonly<Record<string, string>>): SortQuery {
  const sort = sorted[by]
  return sort === undefined ? {} : { sort, order: isDescending ? 'desc' : 'asc' }
}

type Sorting = ReturnType<typeof useSort>
type Compared<Row> = Readonly<Record<string, (row: Row) => string | number>>

export function sortedBy<Row>(
  rows: readonly Row[],
  { by, isDescending }: Sort,
  compared: Compared<Row>,
): readonly Row[] {
  const of = compared[by]
  if (of === undefined) return rows
  return rows.toSorted((a, b) => {
    const [x, y] = [of(a), of(b)]
    const order = typeof x === 'string' ? x.localeCompare(String(y)) : x - Number(y)
    return isDescending ? -order : order
  })
}
