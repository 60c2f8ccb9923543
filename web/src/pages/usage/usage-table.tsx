// The list of requests: renders only the rows near the viewport and loads more while the page is scrolled. The server sorts.
import { Anchor, Table, Text } from '@mantine/core'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, type Ref, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { UsageRow, UsageSort } from '../../api/usage.ts'
import { AccountName } from '../../components/account-name.tsx'
import { Credits } from '../../components/credits.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { useRowLink } from '../../components/row-link.ts'
import { SortableHead } from '../../components/sorting.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { type Column, TableFrame } from '../../components/table-frame.tsx'
import { tagTexts } from '../../components/tags.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { OUTCOMES } from '../../components/usage/outcomes.ts'
import { durationMs } from '../../components/usage/request-duration.ts'
import { columnPlaces } from '../../format/amounts.ts'
import { shownRate } from '../../format/currency.ts'
import { withoutControls } from '../../format/isolated.ts'
import { count, duration } from '../../format/numbers.ts'

const ROW_PX = 38
const AHEAD = 40

type Props = {
  readonly rows: readonly UsageRow[]
  readonly of: UseInfiniteQueryResult
  readonly sort: UsageSort
  readonly onSort: (sort: UsageSort) => void
}

const COLUMNS: readonly Column[] = [
  { name: 'Time', width: 150, card: 'unnamed' },
  { name: 'Model', width: '17%', card: 'title' },
  { name: 'Provider', width: '9%', card: 'unnamed' },
  { name: 'Account', width: '16%', card: 'unnamed' },
  { name: 'Key', width: '16%', card: 'none' },
  { name: 'Outcome', width: 176, card: 'unnamed' },
  { name: 'Tokens in / out', width: 116, isRight: true },
  { name: 'Duration', width: 84, isRight: true },
  { name: 'Cost', width: 108, isRight: true, card: 'value' },
]

const TAGS: Column = { name: 'Tags', width: 128, card: 'unnamed' }
const BEFORE_TAGS = COLUMNS.findIndex(({ name }) => name === 'Key') + 1

const SORTS: Readonly<Record<string, UsageSort>> = { Time: 'time', Cost: 'cost' }

// The column of tags only where there are any: most installations have none.
function columnsOf(hasTags: boolean, { sort, onSort }: Pick<Props, 'sort' | 'onSort'>): readonly Column[] {
  const columns = hasTags ? COLUMNS.toSpliced(BEFORE_TAGS, 0, TAGS) : COLUMNS
  return columns.map(column => {
    const by = SORTS[column.name]
    if (by === undefined) return column
    const state = { by: sort, isDescending: true }
    return { ...column, head: <SortableHead name={by} label={column.name} sort={state} onSort={() => onSort(by)} /> }
  })
}

export function UsageTable({ rows, of, sort, onSort }: Props): ReactNode {
  const top = useRef<HTMLDivElement>(null)
  const [scrollMargin, setScrollMargin] = useState(0)
  const hasTags = rows.some(({ tags }) => Object.keys(tags).length > 0)
  const rate = shownRate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the decimals are those of the shown unit.
  const places = useMemo(() => columnPlaces(rows.map(({ cost }) => cost)), [rows, rate])
  useLayoutEffect(() => setScrollMargin((top.current?.getBoundingClientRect().top ?? 0) + scrollY), [])
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => ROW_PX,
    getItemKey: index => rows[index]?.request_id ?? index,
    overscan: 12,
    scrollMargin,
  })
  const items = virtual.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) > rows.length - AHEAD
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = of
  useEffect(() => {
    // Loading a second page stops live updates, so it waits until somebody scrolls.
    if (isNearEnd && scrollY > 0 && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage])

  const above = (items[0]?.start ?? scrollMargin) - scrollMargin
  const below = virtual.getTotalSize() - ((items.at(-1)?.end ?? scrollMargin) - scrollMargin)

  return (
    <div className="panel" ref={top}>
      <TableFrame label="Requests" columns={columnsOf(hasTags, { sort, onSort })} isFixed>
        {above > 0 && <Space height={above} />}
        {items.map(({ index, key }) => {
          const row = rows[index]
          if (row === undefined) return null
          return (
            <Row key={key} of={row} index={index} hasTags={hasTags} places={places} measure={virtual.measureElement} />
          )
        })}
        {below > 0 && <Space height={below} />}
      </TableFrame>
      <Text size="xs" c="dimmed" px="md" py={6} role="status">
        {count(rows.length)} rows{hasNextPage ? ` loaded; scroll for ${sort === 'time' ? 'older ones' : 'more'}` : ''}
        {isFetchingNextPage ? ' · loading…' : ''}
      </Text>
    </div>
  )
}

// Takes the place of the rows outside the viewport.
function Space({ height }: { readonly height: number }): ReactNode {
  return (
    <tr aria-hidden>
      <td colSpan={COLUMNS.length + 1} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}

type RowProps = {
  readonly of: UsageRow
  readonly index: number
  readonly hasTags: boolean
  readonly places: number
  readonly measure: Ref<HTMLTableRowElement>
}

function Row({ of: row, index, hasTags, places, measure }: RowProps): ReactNode {
  const rowLink = useRowLink()
  const href = `/usage/${row.request_id}`
  const model = row.model_served ?? row.model_requested
  return (
    <Table.Tr ref={measure} data-index={index} aria-rowindex={index + 2} {...rowLink(href)}>
      <Table.Td>
        <Anchor component={Link} href={href} size="sm">
          <Timestamp at={row.created_at} isShort />
        </Anchor>
      </Table.Td>
      <Table.Td title={model ?? ''}>
        <span className="one-line">{withoutControls(model ?? '–')}</span>
      </Table.Td>
      <Table.Td title={row.provider ?? ''}>{row.provider}</Table.Td>
      <Table.Td>
        <AccountName id={row.account_id} />
      </Table.Td>
      <Table.Td>
        <KeyName id={row.key_id} last4={row.secret_last4} hasLabel={false} />
      </Table.Td>
      {hasTags && <Table.Td title={tagTexts(row.tags).join(', ')}>{tagTexts(row.tags).join(', ')}</Table.Td>}
      <Table.Td title={row.error_message ?? ''}>
        <StateBadge state={row.outcome ?? row.state} word={outcomeOf(row)} />
      </Table.Td>
      <Table.Td className="right number">
        {row.prompt_tokens + row.completion_tokens === 0
          ? '–'
          : `${count(row.prompt_tokens)} / ${count(row.completion_tokens)}`}
      </Table.Td>
      <Table.Td className="right number">{duration(durationMs(row))}</Table.Td>
      <Table.Td className="right">
        <Credits value={row.cost} places={places} />
      </Table.Td>
    </Table.Tr>
  )
}

function outcomeOf(row: UsageRow): string {
  if (row.outcome === null) return 'running'
  if (row.outcome !== 'refused') return OUTCOMES[row.outcome]
  // A stream that had started reports the error in its last chunk.
  return `refused ${(row.http_status === 200 ? row.error_code : row.http_status) ?? ''}`.trim()
}
