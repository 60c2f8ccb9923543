// The usage table: renders only the visible rows and loads older ones while scrolling.
import { Anchor, Text } from '@mantine/core'
import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useRef } from 'react'
import { Link, useLocation } from 'wouter'
import type { UsageRow } from '../../api/usage.ts'
import { Credits } from '../../components/credits.tsx'
import { KeyName } from '../../components/key-name.tsx'
import { StateBadge } from '../../components/state-badge.tsx'
import { tagTexts } from '../../components/tags.tsx'
import { Timestamp } from '../../components/timestamp.tsx'
import { count, duration } from '../../format/numbers.ts'
import { OUTCOMES } from './outcomes.ts'
import { durationMs } from './request-duration.ts'
import classes from './usage-table.module.css'

const ROW_PX = 38
const AHEAD = 40

type Props = { readonly rows: readonly UsageRow[]; readonly of: UseInfiniteQueryResult }

type Head = { readonly name: string; readonly width: number | string; readonly isRight?: boolean }

const HEADS: readonly Head[] = [
  { name: 'Time', width: 172 },
  { name: 'Model', width: '17%' },
  { name: 'Provider', width: '9%' },
  { name: 'Key', width: '24%' },
  { name: 'Outcome', width: 150 },
  { name: 'Tokens in', width: 92, isRight: true },
  { name: 'Tokens out', width: 92, isRight: true },
  { name: 'Duration', width: 88, isRight: true },
  { name: 'Cost', width: 120, isRight: true },
]

const TAGS: Head = { name: 'Tags', width: '11%' }
const BEFORE_TAGS = HEADS.findIndex(({ name }) => name === 'Key') + 1

// The column of tags only where there are any: most installations have none.
function headsOf(hasTags: boolean): readonly Head[] {
  return hasTags ? HEADS.toSpliced(BEFORE_TAGS, 0, TAGS) : HEADS
}

export function UsageTable({ rows, of }: Props): ReactNode {
  const frame = useRef<HTMLDivElement>(null)
  const hasTags = rows.some(({ tags }) => Object.keys(tags).length > 0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    getItemKey: index => rows[index]?.request_id ?? index,
    overscan: 12,
  })
  const items = virtual.getVirtualItems()
  const isNearEnd = (items.at(-1)?.index ?? 0) > rows.length - AHEAD
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = of
  useEffect(() => {
    // Loading a second page stops live updates, so it waits until somebody scrolls.
    const isScrolled = (frame.current?.scrollTop ?? 0) > 0
    if (isNearEnd && isScrolled && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage])

  const above = items[0]?.start ?? 0
  const below = virtual.getTotalSize() - (items.at(-1)?.end ?? 0)

  return (
    <div className="panel">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <section ref={frame} className={classes.frame} aria-label="Requests" tabIndex={0}>
        <table className={classes.table} aria-rowcount={rows.length + 1}>
          <thead className={classes.head}>
            <tr>
              {headsOf(hasTags).map(({ name, isRight, width }) => (
                <th key={name} scope="col" style={{ width }} className={isRight === true ? classes.right : ''}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {above > 0 && <Space height={above} />}
            {items.map(({ index, key }) => {
              const row = rows[index]
              return row === undefined ? null : <Row key={key} of={row} index={index} hasTags={hasTags} />
            })}
            {below > 0 && <Space height={below} />}
          </tbody>
        </table>
      </section>
      <Text size="xs" c="dimmed" px="md" py={6} role="status">
        {count(rows.length)} rows{hasNextPage ? ' loaded; scroll for older ones' : ''}
        {isFetchingNextPage ? ' · loading…' : ''}
      </Text>
    </div>
  )
}

// Takes the place of the rows outside the viewport.
function Space({ height }: { readonly height: number }): ReactNode {
  return (
    <tr aria-hidden>
      <td colSpan={HEADS.length + 1} style={{ height, padding: 0, border: 0 }} />
    </tr>
  )
}

type RowProps = { readonly of: UsageRow; readonly index: number; readonly hasTags: boolean }

function Row({ of: row, index, hasTags }: RowProps): ReactNode {
  const [, goTo] = useLocation()
  const href = `/usage/${row.request_id}`
  return (
    <tr
      aria-rowindex={index + 2}
      className="row-link"
      onClick={({ target }) => target instanceof Element && target.closest('a') === null && goTo(href)}
    >
      <td>
        <Anchor component={Link} href={href} size="sm">
          <Timestamp at={row.created_at} isShort />
        </Anchor>
      </td>
      <td title={row.model_served ?? row.model_requested ?? ''}>{row.model_served ?? row.model_requested ?? '–'}</td>
      <td title={row.provider ?? ''}>{row.provider ?? '–'}</td>
      <td>
        <KeyName id={row.key_id} last4={row.secret_last4} />
      </td>
      {hasTags && <td title={tagTexts(row.tags).join(', ')}>{tagTexts(row.tags).join(', ') || '–'}</td>}
      <td title={row.error_message ?? ''}>
        <StateBadge state={row.outcome ?? row.state} word={outcomeOf(row)} />
      </td>
      <td className={FIGURE}>{count(row.prompt_tokens)}</td>
      <td className={FIGURE}>{count(row.completion_tokens)}</td>
      <td className={FIGURE}>{duration(durationMs(row))}</td>
      <td className={FIGURE}>
        <Credits value={row.cost} places={6} />
      </td>
    </tr>
  )
}

const FIGURE = `${classes.right} number`

function outcomeOf(row: UsageRow): string {
  if (row.outcome === null) return 'running'
  if (row.outcome !== 'refused') return OUTCOMES[row.outcome]
  // A stream that had started reports the error in its last chunk.
  return `rejected ${(row.http_status === 200 ? row.error_code : row.http_status) ?? ''}`.trim()
}
