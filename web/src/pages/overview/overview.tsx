// The overview page: totals and charts of a time range, top spenders, provider health and low balances.
import { SegmentedControl, SimpleGrid } from '@mantine/core'
import type { ReactNode } from 'react'
import { RANGES, useOverview } from '../../api/overview.ts'
import { ErrorAlert } from '../../components/error-alert.tsx'
import { Page } from '../../components/page.tsx'
import { useParams } from '../../components/search-params.ts'
import { Charts } from './charts.tsx'
import { FirstSteps } from './first-steps.tsx'
import { LowBalances } from './low-balances.tsx'
import { ProviderHealth } from './provider-health.tsx'
import { TopSpenders } from './top-spenders.tsx'
import { Totals } from './totals.tsx'

export default function Overview(): ReactNode {
  const [params, setParams] = useParams()
  const range = RANGES.find(({ id }) => id === params.get('range')) ?? RANGES[0]
  const { data, error, refetch } = useOverview(range)

  return (
    <Page
      title="Overview"
      about="Chat traffic, updated live."
      actions={
        <SegmentedControl
          aria-label="Range"
          size="xs"
          data={RANGES.map(({ id, label }) => ({ value: id, label }))}
          value={range.id}
          onChange={id => setParams({ range: id === RANGES[0].id ? '' : id })}
        />
      }
    >
      {error !== null && (
        <ErrorAlert error={error} title="The overview could not be loaded" onRetry={() => void refetch()} />
      )}
      {data !== undefined && (
        <>
          <LowBalances of={data.low_balances} />
          {data.totals.requests === 0 && <FirstSteps />}
          <Totals of={data.totals} />
          <Charts of={data} />
          <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="md">
            <TopSpenders of={data.top} total={data.totals} />
            <ProviderHealth />
          </SimpleGrid>
        </>
      )}
    </Page>
  )
}
