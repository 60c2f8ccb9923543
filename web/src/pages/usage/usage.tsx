// The usage page: one row per request, newest first.
import { Anchor, Button, Group } from '@mantine/core'
import { IconDownload, IconListDetails } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { apiUrl, queryOf } from '../../api/call.ts'
import { USAGE_FILTERS, type UsageFilter, useUsage } from '../../api/usage.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { useParams } from '../../components/search-params.ts'
import { UsageFilters } from './usage-filters.tsx'
import { UsageTable } from './usage-table.tsx'

export default function Usage(): ReactNode {
  const [params, setParams] = useParams()
  const filter: UsageFilter = Object.fromEntries(
    USAGE_FILTERS.flatMap(name => {
      const value = params.get(name) ?? ''
      return value === '' ? [] : [[name, value]]
    }),
  )
  const usage = useUsage(filter)
  const rows = usage.data?.pages.flatMap(page => page.data) ?? []
  const isFiltered = Object.keys(filter).length > 0
  const csv = apiUrl(`/usage${queryOf({ ...filter, format: 'csv' })}`)

  return (
    <Page
      title="Usage"
      about="One row per request. Prompts and responses are never stored."
      actions={
        <Button
          component="a"
          href={csv}
          download="usage.csv"
          variant="default"
          leftSection={<IconDownload size={16} />}
        >
          Export CSV
        </Button>
      }
    >
      <UsageFilters filter={filter} onChange={setParams} />
      {usage.error !== null && <ErrorAlert error={usage.error} onRetry={() => void usage.refetch()} />}
      {rows.length > 0 && <UsageTable rows={rows} of={usage} />}
      {usage.isSuccess && rows.length === 0 && (
        <div className="panel">
          <EmptyState icon={IconListDetails} title={isFiltered ? 'No matching requests' : 'No requests yet'}>
            {isFiltered ? (
              <Group justify="center" gap="xs">
                Only chat requests are shown unless you choose another endpoint.
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
    </Page>
  )
}
