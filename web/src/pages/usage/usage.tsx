// The usage page: one row per request, newest or most expensive first.
import { Anchor, Button, Group, Select } from '@mantine/core'
import { IconDownload, IconListDetails } from '@tabler/icons-react'
import { type ReactNode, useMemo } from 'react'
import { Link } from 'wouter'
import { apiUrl, queryOf } from '../../api/call.ts'
import { serverNow } from '../../api/connection.ts'
import { USAGE_FILTERS, type UsageFilter, type UsageRow, type UsageSort, useUsage } from '../../api/usage.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { useParams } from '../../components/search-params.ts'
import { useZone } from '../../components/zone.ts'
import { UsageFilters } from './usage-filters.tsx'
import { GroupSelect, groupOf, UsageGroups } from './usage-groups.tsx'
import { boundsOf, type UsageRange, usageRange } from './usage-ranges.ts'
import { UsageTable } from './usage-table.tsx'
import { UsageTotals } from './usage-totals.tsx'

export default function Usage(): ReactNode {
  const [params, setParams] = useParams()
  const range = usageRange(params)
  const filter = useFilter(params, range)
  const groupBy = groupOf(params)
  const sort = params.get('sort') === 'cost' ? 'cost' : 'time'
  const usage = useUsage(filter, sort, groupBy === undefined)
  const rows = usage.data?.pages.flatMap(page => page.data) ?? []
  const isFiltered = Object.keys(filter).length > 0
  const csv =
    groupBy === undefined
      ? apiUrl(`/usage${queryOf({ ...filter, format: 'csv' })}`)
      : apiUrl(`/usage/summary${queryOf({ ...filter, group_by: groupBy, format: 'csv' })}`)

  return (
    <Page
      title="Usage"
      about={
        groupBy === undefined
          ? 'One row per request. Prompts and responses are never stored.'
          : 'Sums of the requests that match the filter.'
      }
      actions={
        <>
          <GroupSelect value={groupBy ?? ''} onChange={setParams} />
          {groupBy === undefined && (
            <Select
              aria-label="Sort by"
              hiddenFrom="sm"
              w={150}
              allowDeselect={false}
              data={[
                { value: 'time', label: 'Newest first' },
                { value: 'cost', label: 'By cost' },
              ]}
              value={sort}
              onChange={by => setParams({ sort: by === 'cost' ? 'cost' : '' })}
            />
          )}
          <Button
            component="a"
            href={csv}
            download={groupBy === undefined ? 'usage.csv' : 'usage-summary.csv'}
            variant="default"
            leftSection={<IconDownload size={16} />}
          >
            Export CSV
          </Button>
        </>
      }
    >
      <UsageFilters range={range} filter={filter} onChange={setParams} />
      <UsageTotals filter={filter} />
      {groupBy === undefined ? (
        <Requests
          usage={usage}
          rows={rows}
          isFiltered={isFiltered}
          sort={sort}
          onSort={by => setParams({ sort: by === 'cost' ? 'cost' : '' })}
        />
      ) : (
        <UsageGroups key={groupBy} groupBy={groupBy} filter={filter} onFilter={setParams} />
      )}
    </Page>
  )
}

// The range is fixed when it is chosen, so that rows do not leave the list while it is read.
function useFilter(params: URLSearchParams, range: UsageRange): UsageFilter {
  const zone = useZone()
  const bounds = useMemo(() => boundsOf(range, zone, serverNow()), [range, zone])
  const given = USAGE_FILTERS.flatMap(name => {
    const value = params.get(name) ?? ''
    return value === '' ? [] : [[name, value]]
  })
  const codes = params.getAll('error_code')
  return { ...bounds, ...Object.fromEntries(given), ...(codes.length === 0 ? {} : { error_code: codes }) }
}

type RequestsProps = {
  readonly usage: ReturnType<typeof useUsage>
  readonly rows: readonly UsageRow[]
  readonly isFiltered: boolean
  readonly sort: UsageSort
  readonly onSort: (sort: UsageSort) => void
}

function Requests({ usage, rows, isFiltered, sort, onSort }: RequestsProps): ReactNode {
  return (
    <>
      {usage.error !== null && (
        <ErrorAlert
          error={usage.error}
          onRetry={() => void usage.refetch()}
          {...(sort === 'cost' ? { hint: 'Choose a shorter time range, or sort by time.' } : {})}
        />
      )}
      {sort === 'cost' && usage.error !== null && (
        <Button variant="default" w="fit-content" onClick={() => onSort('time')}>
          Sort by time
        </Button>
      )}
      {rows.length > 0 && <UsageTable rows={rows} of={usage} sort={sort} onSort={onSort} />}
      {usage.isSuccess && rows.length === 0 && (
        <div className="panel">
          <EmptyState icon={IconListDetails} title={isFiltered ? 'No matching requests' : 'No requests yet'}>
            {isFiltered ? (
              <Group justify="center" gap="xs">
                Only billed endpoints are shown unless you choose another.
                <Anchor component={Link} href="/usage" inherit>
                  Clear filters
                </Anchor>
              </Group>
            ) : (
              <>
                <Anchor component={Link} href="/keys" inherit>
                  Create a key
                </Anchor>{' '}
                and send a chat request, or try the{' '}
                <Anchor component={Link} href="/playground" inherit>
                  playground
                </Anchor>
                . Requests appear here immediately.
              </>
            )}
          </EmptyState>
        </div>
      )}
    </>
  )
}
